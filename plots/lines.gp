# Lines over the steps with bands over the seeds: panels below each other, the sweep's sizes side by side.
# The figure sets: panels, panel_row[p] (the row of the data drawn there), panel_label[p], panel_over[p] (a row
# drawn over it in thin lines, 0 for none), panel_scale[p] ("", "log", or "wide": log where the values span three
# decades or more). Row 2 is the gate, drawn behind
# on an axis of its own.
eval(frame)
left = 66; right = 46; top = columns > 1 ? 74 : 62; bottom = 54 + 11 * caption_lines; between_x = 52; between_y = 14
cell_w = (width - left - right - between_x * (columns - 1)) / columns
cell_h = (height - top - bottom - between_y * (panels - 1)) / panels
gate_series = 0
do for [s=1:series] { if (series_name[s] eq "gate") { gate_series = s } }

set multiplot
eval(before_key)
plot NaN notitle, for [s=1:series] keyentry with linespoints lt style(s) ps 0.6 \
         title (s == gate_series ? "" : series_name[s]), \
     keyentry with boxes fc rgb "#efefef" fs solid title (gate_series ? "gate" : "")
eval(after_key)
do for [c=1:columns] {
    do for [p=1:panels] {
        r = panel_row[p]
        o = panel_over[p]
        set lmargin at screen pixel_x(left + (c - 1) * (cell_w + between_x))
        set rmargin at screen pixel_x(left + (c - 1) * (cell_w + between_x) + cell_w)
        set tmargin at screen pixel_y(top + (p - 1) * (cell_h + between_y))
        set bmargin at screen pixel_y(top + (p - 1) * (cell_h + between_y) + cell_h)
        set autoscale y
        unset logscale y
        set format y "%g"
        y_low = lowest[cell(c, r)]
        y_high = highest[cell(c, r)]
        if (y_low > 0 && (panel_scale[p] eq "log" || (panel_scale[p] eq "wide" && y_high >= 1000 * y_low))) {
            set logscale y
            set yrange [y_low * 0.8:y_high * 1.25]
            if (y_high >= 1000 * y_low) { set format y "1e%T" }
        }
        unset label 4
        if (c == 1) { set label 4 panel_label[p] @y_label }
        if (p == panels) { set xlabel "step" offset 0,0.5; set format x "%g" } else { unset xlabel; set format x "" }
        if (c == columns) {
            set y2tics ("0" 0, "1" 1) offset -0.6,0 textcolor rgb "#888888"
            set y2label "gate" offset -2.4,0 textcolor rgb "#888888"
        } else { unset y2tics; unset y2label }
        set y2range [0:1.02]
        if (columns > 1 && p == 1) {
            set label 3 column_name[c] at graph 0.5, graph 1 offset 0,0.6 center font ",10"
        } else { unset label 3 }
        plot $lines index set_of(c, 2, gate_series ? gate_series : 1) using 1:(rows >= 2 && gate_series ? $2 : NaN) \
                 axes x1y2 with filledcurves y2=0 fc rgb "#efefef" notitle, \
             for [s in drawn(c, r)] $lines index set_of(c, r, at(s)) using 1:3:4 with filledcurves \
                 fc rgb colour(at(s)) fs transparent solid 0.17 noborder notitle, \
             for [s in drawn(c, r)] $lines index set_of(c, r, at(s)) using 1:2 with linespoints lt style(at(s)) \
                 pi -(1 + points[set_of(c, r, at(s)) + 1] / 7) ps 0.6 notitle, \
             for [s in drawn(c, o ? o : rows + 1)] $lines index set_of(c, o ? o : 1, at(s)) using 1:2 with lines \
                 lc rgb colour(at(s)) lw 1.3 dt (1,3) notitle
        print say_axes(c, r)
    }
}
unset multiplot
