"""A headless Chromium driven over its debugging pipe, with nothing but Python's own library."""
import base64
import json
import os
import select
import subprocess
import time


class Browser:
    def __init__(self, program, folder):
        ours, theirs = os.pipe(), os.pipe()  # to it, and from it

        def place():  # it reads from descriptor 3 and writes to 4
            os.dup2(ours[0], 13)
            os.dup2(theirs[1], 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        arguments = [program, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
                     '--hide-scrollbars', '--no-first-run', '--disable-background-networking', '--remote-debugging-pipe',
                     '--user-data-dir=' + folder, 'about:blank']
        with open(os.path.join(folder, 'browser.log'), 'w') as log:
            self.process = subprocess.Popen(arguments, preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)
        os.close(ours[0])
        os.close(theirs[1])
        self.write, self.read = ours[1], theirs[0]
        self.number, self.buffer, self.session, self.said = 0, b'', None, []
        page = [t for t in self.ask('Target.getTargets')['targetInfos'] if t['type'] == 'page'][0]
        self.session = self.ask('Target.attachToTarget', targetId=page['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.ask(domain + '.enable')

    def message(self, seconds):
        until = time.monotonic() + seconds
        while b'\0' not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read], [], [], left)[0]:
                return None
            piece = os.read(self.read, 1 << 20)
            if not piece:
                raise RuntimeError('the browser is gone')
            self.buffer += piece
        text, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(text)

    def note(self, message):
        """What a page complains of: errors of its script, refusals of its policy."""
        method, what = message.get('method'), message.get('params', {})
        if method == 'Runtime.exceptionThrown':
            self.said.append(what['exceptionDetails'].get('exception', {}).get('description', 'exception'))
        elif method == 'Log.entryAdded' and what['entry']['level'] == 'error':
            self.said.append(what['entry']['text'])

    def ask(self, method, **arguments):
        self.number += 1
        question = {'id': self.number, 'method': method, 'params': arguments}
        if self.session:
            question['sessionId'] = self.session
        text = json.dumps(question).encode() + b'\0'
        while text:
            text = text[os.write(self.write, text):]
        while True:
            answer = self.message(60)
            if answer is None:
                raise RuntimeError(method + ': no answer')
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise RuntimeError('%s: %s' % (method, answer['error']['message']))
                return answer['result']
            self.note(answer)

    def value(self, script):
        result = self.ask('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError('%s: %s' % (script, result['exceptionDetails']))
        return result['result'].get('value')

    def until(self, script, seconds=20):
        """Whether the script becomes true within the time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.value(script):
                    return True
            except RuntimeError:  # between two pages
                pass
            time.sleep(0.05)
        return False

    def open(self, address):
        self.ask('Page.navigate', url=address)
        if not self.until('document.readyState === "complete" && location.href !== "about:blank"'):
            raise RuntimeError(address + ': does not load')

    def window(self, width, height, phone=False, dark=False, print_=False):
        self.ask('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.ask('Emulation.setEmulatedMedia', media='print' if print_ else '',
                 features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])

    def picture(self, path, whole=False):
        data = self.ask('Page.captureScreenshot', format='png', captureBeyondViewport=whole)['data']
        with open(path, 'wb') as out:
            out.write(base64.b64decode(data))

    def mouse(self, x, y, kind='mouseMoved', **more):
        self.ask('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def key(self, key, text=''):
        self.ask('Input.dispatchKeyEvent', type='keyDown', key=key, text=text)
        self.ask('Input.dispatchKeyEvent', type='keyUp', key=key)

    def close(self):
        try:
            self.session = None
            self.ask('Browser.close')
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
