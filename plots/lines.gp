# Lines over the steps with bands over the seeds: panels below each other, what the groups differ in side by side.
# The figure sets: panels, panel_row[p] (the row of the data drawn there), panel_label[p], panel_over[p] (a row drawn
# over it in thin dots, 0 for none), panel_scale[p] ("", "log", "wide": log where the values span three decades or
# more, "zero": with a line at 0; log_y: all that can be), panel_empty[p] (what to say without values). Row 2 is the gate of every line, drawn
# behind on an axis of its own; the steps at which a line's sites go are ticks of its colour at the bottom. A figure whose
# lines are not its groups sets name_columns: a lone one is named too.
eval(frame)
names_columns = columns > 1 || exists("name_columns")
left = 66; right = 46; top = (names_columns ? 74 : 62) + key_more + mark_room; bottom = 54 + 11 * caption_lines; between_x = 52; between_y = 14
cell_w = (width - left - right - between_x * (columns - 1)) / columns
cell_h = (height - top - bottom - between_y * (panels - 1)) / panels
has_gate = 0
do for [c=1:columns] { if (strlen(drawn(c, 2)) > 0) { has_gate = 1 } }

set multiplot
eval(before_key)
plot NaN notitle, for [s=1:series] keyentry with linespoints lt style(s) ps 0.6 title series_name[s], \
     keyentry with boxes fc rgb "#efefef" fs solid title (has_gate ? "gate" : "")
eval(after_key)
do for [c=1:columns] {
    do for [p=1:panels] {
        r = panel_row[p] # where it has no values, 1, of which nothing is then drawn
        o = panel_over[p]
        over = drawn(c, o > 0 ? o : rows + 1)
        gates = drawn(c, 2)
        o_row = strlen(over) > 0 ? o : 1
        g_row = strlen(gates) > 0 ? 2 : 1
        lines = drawn(c, r)
        empty = strlen(lines) == 0
        if (empty) { r = 1 }
        set lmargin at screen pixel_x(left + (c - 1) * (cell_w + between_x))
        set rmargin at screen pixel_x(left + (c - 1) * (cell_w + between_x) + cell_w)
        set tmargin at screen pixel_y(top + (p - 1) * (cell_h + between_y))
        set bmargin at screen pixel_y(top + (p - 1) * (cell_h + between_y) + cell_h)
        set autoscale xy
        unset logscale y
        unset label 5
        unset arrow 1
        set ytics nomirror out scale 0.6 textcolor rgb "#333333"
        set format y "%g"
        y_low = lowest[cell(c, r)]
        y_high = highest[cell(c, r)]
        if (empty) {
            set yrange [0:1]
            if (strlen(gates) == 0) { set xrange [0:1] }
            unset ytics
            set label 5 panel_empty[p] at graph 0.5, graph 0.5 center textcolor rgb "#777777" font ",10" front
        } else {
            if (y_low > 0 && (log_y || panel_scale[p] eq "log" || (panel_scale[p] eq "wide" && y_high >= 1000 * y_low))) {
                set logscale y
                set yrange [y_low * 0.8:y_high * 1.25]
                if (y_high >= 1000 * y_low) { set format y "1e%T" }
            }
            if (panel_scale[p] eq "zero" && y_low < 0 && y_high > 0) {
                set arrow 1 from graph 0, first 0 to graph 1, first 0 nohead lc rgb "#000000" lw 0.7 front
            }
        }
        unset label 4
        if (c == 1) { set label 4 panel_label[p] @y_label }
        if (p == panels) { set xlabel x_name offset 0,0.5; set format x "%g" } else { unset xlabel; set format x "" }
        if (c == columns && has_gate) {
            set y2tics ("0" 0, "1" 1) offset -0.6,0 textcolor rgb "#888888"
            set y2label "gate" offset -2.4,0 textcolor rgb "#888888"
        } else { unset y2tics; unset y2label }
        set y2range [0:1.02]
        if (names_columns && p == 1) {
            set label 3 column_name[c] at graph 0.5, screen pixel_y(top - mark_room) offset 0,0.6 center font ",10"
        } else { unset label 3 }
        # The names of the marks stand above the first panel, in two rows in turns; their lines go through all of them.
        if (!empty || strlen(gates) > 0) {
            do for [n=1:names] {
                if (n <= names && name_column[n] == c) {
                    set arrow 100 + n from first name_step[n], graph 0 to first name_step[n], graph 1 nohead \
                        lc rgb "#aaaaaa" lw 0.7 dt (2,3) back
                    if (p == 1) {
                        set label 100 + n name_text[n] at first name_step[n], graph 1 \
                            offset 0,(n % 2 ? 0.45 : 1.25) left font ",8" textcolor rgb "#555555"
                    }
                }
            }
        }
        # gnuplot goes through an empty list once, with an empty word: nothing may come of that.
        plot NaN notitle, \
             for [s in gates] $lines index set_of(c, g_row, at(s)) using 1:(g_row == 2 ? $2 : NaN) \
                 axes x1y2 with filledcurves y2=0 fc rgb "#efefef" notitle, \
             for [s in gates] $lines index set_of(c, g_row, at(s)) using 1:(g_row == 2 ? $2 : NaN) \
                 axes x1y2 with lines lc rgb "#cfcfcf" lw 0.7 dt solid notitle, \
             for [s in lines] $lines index set_of(c, r, at(s)) using 1:(empty ? NaN : $3):4 with filledcurves \
                 fc rgb colour(at(s)) fs transparent solid 0.17 noborder notitle, \
             for [s in lines] $lines index set_of(c, r, at(s)) using 1:(empty ? NaN : $8) with lines \
                 lc rgb colour(at(s)) lw 1.2 dt (1,2) notitle, \
             for [s in lines] $lines index set_of(c, r, at(s)) using 1:(empty ? NaN : $7) with linespoints lt style(at(s)) \
                 pi -(1 + points[set_of(c, r, at(s)) + 1] / 7) ps 0.6 notitle, \
             for [s in over] $lines index set_of(c, o_row, at(s)) using 1:(strlen(over) > 0 ? $2 : NaN) with lines \
                 lc rgb colour(at(s)) lw 1.3 dt (1,3) notitle, \
             for [s=0:series] $marks using ($1 == c && $2 == s ? $3 : NaN):(0.05 * $4):(0):(0.05) axes x1y2 \
                 with vectors nohead lc rgb (s ? colour(s) : "#777777") lw 1 dt solid notitle
        do for [n=1:names] {
            if (n <= names) { unset arrow 100 + n; unset label 100 + n }
        }
        if (!empty) { print say_axes(c, r) }
    }
}
unset multiplot
