# c * mean(s) of every site, a panel a variant: 1 means that the two branches of the taper agree there.
# Depth runs from dark to light; attention norms solid, MLP norms dashed, those of V alone dotted, the final norm thick
# and orange.
eval(frame)
left = 58; right = 46; top = 68; bottom = 54 + 11 * caption_lines; between_x = 24; between_y = 30
across = columns > 1 ? 2 : 1
down = (columns + across - 1) / across
cell_w = (width - left - right - between_x * (across - 1)) / across
cell_h = (height - top - bottom - between_y * (down - 1)) / down
gate_series = 0
blocks = 0
is_block(s) = substr(series_name[s], 1, 7) eq "blocks."
after(s) = substr(series_name[s], 8, strlen(series_name[s]))    # "3.attn_norm"
block(s) = int(substr(after(s), 1, strstrt(after(s), ".") - 1))
is_mlp(s) = strstrt(series_name[s], "mlp") > 0
is_value(s) = strstrt(series_name[s], "value") > 0
dashes(s) = is_value(s) ? 3 : is_mlp(s) ? 2 : 1
do for [s=1:series] {
    if (series_name[s] eq "gate") { gate_series = s }
    if (is_block(s) && block(s) >= blocks) { blocks = block(s) + 1 }
}
depth(s) = blocks > 1 ? real(block(s)) / (blocks - 1) : 0
blue(d) = sprintf("#%02x%02x%02x", int(10 + 90 * d), int(40 + 140 * d), int(90 + 143 * d))
shade(s) = is_block(s) ? blue(depth(s)) : "#d55e00"
short(s) = is_block(s) ? sprintf("%s %d", is_value(s) ? "value" : is_mlp(s) ? "mlp" : "attn", block(s)) : "final"

# One scale for all panels; in decades where a run has left 1 far behind.
top_of_all = 1
low_of_all = 1
do for [c=1:columns] {
    if (strlen(drawn(c, 1)) > 0 && highest[cell(c, 1)] > top_of_all) { top_of_all = highest[cell(c, 1)] }
    if (strlen(drawn(c, 1)) > 0 && lowest[cell(c, 1)] < low_of_all) { low_of_all = lowest[cell(c, 1)] }
}
decades = low_of_all > 0 && top_of_all > 100
# The key names every site where three rows hold them, else those of the first, middle and last block.
key_across = int((width - 40) / 78)
key_all = series - (gate_series > 0) <= 3 * key_across
in_key(s) = s != gate_series && (key_all || !is_block(s) || block(s) == 0 || block(s) == blocks / 2 || block(s) == blocks - 1)

set multiplot
eval(before_key)
set key maxrows 3 maxcols key_across samplen 1.8 spacing 1.0 width 0 font ",8"
plot NaN notitle, for [s=1:series] keyentry with lines lc rgb shade(s) dt dashes(s) lw (is_block(s) ? 1.2 : 2.2) \
         title (in_key(s) ? short(s) : "")
eval(after_key)
do for [c=1:columns] {
    i = (c - 1) % across
    j = (c - 1) / across
    set lmargin at screen pixel_x(left + i * (cell_w + between_x))
    set rmargin at screen pixel_x(left + i * (cell_w + between_x) + cell_w)
    set tmargin at screen pixel_y(top + 14 + j * (cell_h + between_y))
    set bmargin at screen pixel_y(top + j * (cell_h + between_y) + cell_h)
    if (decades) {
        set logscale y
        set yrange [0.8 * low_of_all:1.25 * top_of_all]
    } else { set yrange [0:1.05 * top_of_all] }
    unset label 4
    if (i == 0) { set label 4 "c · mean s" @y_label; set format y (decades ? "1e%T" : "%g") } else { set format y "" }
    if (j == down - 1 || c + across > columns) { set xlabel "step" offset 0,0.5 } else { unset xlabel }
    set format x "%g"
    if (i == across - 1 || c == columns) {
        set y2tics ("0" 0, "1" 1) offset -0.6,0 textcolor rgb "#888888"
        set y2label "gate" offset -2.4,0 textcolor rgb "#888888"
    } else { unset y2tics; unset y2label }
    set y2range [0:1.02]
    set label 3 column_name[c] at graph 0.5, graph 1.0 offset 0,0.6 center font ",10"
    unset arrow 1 # outside the axes gnuplot would draw it over the neighbours
    if ((!decades || 0.8 * low_of_all < 1) && (decades ? 1.25 : 1.05) * top_of_all > 1) {
        set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb "#888888" lw 0.8 dt (1,2) back
    }
    set xtics nomirror out scale 0.6 textcolor rgb "#333333"
    set autoscale x
    unset label 5
    if (strlen(drawn(c, 1)) == 0) {
        set label 5 "no scale measured yet" at graph 0.5, graph 0.5 center textcolor rgb "#777777" font ",10" front
        if (!gate_series || !has(c, 2, gate_series)) { set xrange [0:1] }
    }
    if (strlen(drawn(c, 1)) > 0) {
        do for [n=1:names] {
            if (n <= names && name_column[n] == c) {
                set arrow 100 + n from first name_step[n], graph 0 to first name_step[n], graph 1 nohead \
                    lc rgb "#aaaaaa" lw 0.7 dt (2,3) back
                set label 100 + n name_text[n] at first name_step[n], graph (n % 2 ? 0.18 : 0.1) \
                    offset 0.3,0 left font ",8" textcolor rgb "#555555" front
            }
        }
    }
    plot NaN notitle, $lines index set_of(c, gate_series ? 2 : 1, gate_series ? gate_series : 1) using 1:(gate_series ? $2 : NaN) \
             axes x1y2 with filledcurves y2=0 fc rgb "#efefef" notitle, \
         for [s in drawn(c, 1)] $lines index set_of(c, 1, at(s)) using 1:3:4 with filledcurves \
             fc rgb shade(at(s)) fs transparent solid 0.08 noborder notitle, \
         for [s in drawn(c, 1)] $lines index set_of(c, 1, at(s)) using 1:2 with lines lc rgb shade(at(s)) \
             dt dashes(at(s)) lw (is_block(at(s)) ? 1.2 : 2.2) notitle, \
         $marks using ($1 == c ? $3 : NaN):(0):(0):(0.05) axes x1y2 with vectors nohead lc rgb "#777777" lw 1 \
             dt solid notitle
    do for [n=1:names] {
        if (n <= names) { unset arrow 100 + n; unset label 100 + n }
    }
    print say_axes(c, 1)
}
unset multiplot
