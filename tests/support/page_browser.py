"""Looks at the page in a browser: tests/cli/page_browser.sh starts it beside a sweep that trains.

page_browser.py BROWSER PROFILE ADDRESS SWEEP SHOTS GO: prints TAP lines without numbers, writes pictures into SHOTS, and
creates the file GO when it has seen the page before the sweep goes on."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402

program, profile, page, sweep, shots, go = sys.argv[1:]
browser = Browser(program, profile)


def check(name, good, told=''):
    print(('ok' if good else 'not ok') + ' - ' + name, flush=True)
    if not good:
        print('# ' + str(told or browser.said), flush=True)


def until(name, script, seconds=30):
    check(name, browser.until(script, seconds), 'in the page: %r; said: %r' % (browser.value(script), browser.said))


def picture(name, whole=True):
    browser.picture(os.path.join(shots, name + '.png'), whole)


LOADED = 'document.querySelector("section.curves").dataset.loaded > 0'
ROWS = '[...document.getElementById("table").tBodies[0].rows]'
SHOWN = ROWS + '.filter(r => r.getClientRects().length)'
CURVES = 'document.querySelector("section.curves").curves'


def choose(name, value):
    browser.value('(() => { const f = document.querySelector("section.curves form").elements[%r]; '
                  'f.type === "checkbox" ? f.checked = %s : f.value = %r; '
                  'document.querySelector("section.curves").dataset.loaded = 0; '
                  'f.dispatchEvent(new Event("change", {bubbles: true})); })()' %
                  (name, 'true' if value is True else 'false', value if isinstance(value, str) else ''))


def sees_it_train():
    browser.window(1200, 900)
    browser.open(page + '/sweep?name=' + sweep)
    until('it is live', 'document.getElementById("live").textContent === "live"')
    before = browser.value('document.getElementById("fresh").textContent')
    open(go, 'w').close()
    until('runs begin to train without a reload', 'document.querySelectorAll("#fresh-runs .state.running, #fresh-runs .state.done").length > 0')
    check('and how far they are is told', browser.value('document.getElementById("fresh").textContent') != before)
    until('the curves grow', CURVES + '.drawn?.some(l => l.cells.size > 3)')
    picture('training')
    until('all are done without a reload', 'document.querySelectorAll("#fresh-runs .state.done").length === %s.length' % ROWS, 120)
    until('and the curves are whole', CURVES + '.drawn.length === 4 && [...%s.series.values()].every(s => s.step.at(-1) === 120)' % CURVES)


def looks_at_tables():
    browser.open(page + '/sweep?name=' + sweep)
    all_rows = browser.value(ROWS + '.length')
    browser.key('/')
    check('/ goes to the filter', browser.value('document.activeElement.id') == 'filter')
    for letter in 'baseline':
        browser.key(letter, letter)
    until('typing filters', '%s.length === 2 && %s.every(r => r.textContent.includes("baseline"))' % (SHOWN, SHOWN))
    check('and says how many', browser.value('document.getElementById("count").textContent') == '2 of %d' % all_rows)
    picture('filter', False)
    browser.key('Escape')
    check('Escape shows all again', browser.value(SHOWN + '.length') == all_rows)
    browser.value('[...document.querySelectorAll("#table thead th")].find(h => h.textContent === "val_loss").querySelector("a").click()')
    losses = browser.value(ROWS + '.map(r => parseFloat(r.querySelector("td:nth-last-child(2) span").title))')
    check('a heading sorts', losses == sorted(losses), losses)
    check('and says so', browser.value('document.querySelector("#table th[aria-sort]").ariaSort') == 'ascending')
    check('names are only names', browser.value('document.querySelectorAll("main b b, main img").length') == 0)


def looks_at_curves():
    browser.open(page + '/sweep?name=' + sweep)
    until('curves are loaded', LOADED)
    check('a line a variant', browser.value(CURVES + '.drawn.map(l => l.runs).join()') == '2,2,2,2')
    check('that is described', 'baseline ends at ' in browser.value('document.querySelector(".chart").ariaLabel'))
    box = browser.value('(() => { const b = document.querySelector(".chart").getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()')
    browser.mouse(box[0] + box[2] * .6, box[1] + box[3] * .5)
    until('hovering tells the values', '/^ [0-9.]+/.test(document.querySelector(".legend b").textContent) && /^step [0-9]/.test(document.querySelector(".said").textContent)')
    picture('hover', False)
    choose('by', 'run')
    until('single runs', CURVES + '.drawn.length === 8')
    choose('by', 'group')
    for name, value in (('metric', 'val_loss'), ('metric', 'c:final_norm'), ('x', 'tokens'), ('x', 'time'), ('logy', True), ('logx', True),
                        ('metric', 'ce'), ('band', 'all'), ('roll', '5')):
        choose(name, value)
        if name in ('band', 'roll', 'logy'):
            browser.value('document.querySelector("section.curves").dataset.loaded = 1')
        until('%s %s' % (name, value), '%s && %s.drawn.length > 0' % (LOADED, CURVES))
    check('what was chosen stands in the address', browser.value('location.hash') == '#x=time&band=all&roll=5&logy=1&logx=1',
          browser.value('location.hash'))
    picture('log')
    browser.open(page + '/')
    browser.open(page + '/sweep?name=' + sweep + '#metric=margin&band=none')
    until('and is taken from there', LOADED + ' && document.querySelector("select[name=metric]").value === "margin"')
    browser.value('document.querySelector(".legend button").click()')
    until('a name hides its line', '%s.hidden.size === 1 && document.querySelector(".legend button").ariaPressed === "false"' % CURVES)
    browser.value('document.querySelector(".chart").focus()')
    browser.key('End')
    until('the keyboard reads values', '/^step 1[0-9][0-9]/.test(document.querySelector(".said").textContent)')


def looks_at_others():
    run = browser.value('document.querySelector("#table tbody a").getAttribute("href")')
    browser.open(page + run)
    until('a run has its curve', LOADED + ' && %s.drawn.length === 1' % CURVES)
    picture('run')
    browser.open(page + '/paper?name=' + sweep)
    browser.value('document.querySelectorAll("figure.paper img").forEach(i => { i.loading = "eager"; })')
    until('figures of the paper', '[...document.querySelectorAll("figure.paper img")].every(i => i.complete && i.naturalWidth > 0)', 90)
    check('each with a text for who cannot see it', browser.value('[...document.images].every(i => i.alt.length > 20)'))
    picture('paper')
    browser.open(page + '/')
    picture('sweeps')


def looks_elsewhere():
    for name, path in (('sweeps', '/'), ('sweep', '/sweep?name=' + sweep), ('paper', '/paper?name=' + sweep)):
        browser.window(360, 740, phone=True)
        browser.open(page + path)
        if name == 'sweep':
            browser.until(LOADED)
        check('%s: fits a phone' % name, browser.value('document.documentElement.scrollWidth <= 360'),
              browser.value('[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > 361 && '
                            '!e.closest(".scroll")).map(e => e.outerHTML.slice(0, 80))'))
        picture('phone-' + name)
        browser.window(1200, 900, dark=True)
        browser.open(page + path)
        if name == 'sweep':
            browser.until(LOADED)
        check('%s: dark' % name, browser.value('getComputedStyle(document.body).backgroundColor') == 'rgb(22, 22, 22)')
        picture('dark-' + name)
    browser.window(800, 1100, print_=True)
    browser.open(page + '/sweep?name=' + sweep)
    browser.until(LOADED)
    check('on paper without what only a screen needs', browser.value('document.querySelector(".bar").getClientRects().length') == 0)
    picture('print')


try:
    for part in (sees_it_train, looks_at_tables, looks_at_curves, looks_at_others, looks_elsewhere):
        part()
    check('nothing was complained of', not browser.said)
finally:
    browser.close()
