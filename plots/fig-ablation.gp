# The loss at the end against one key of the taper at a time, and below its change against the baseline of the same
# seed: every seed a point, the line through their means.
eval(frame)
left = 62; right = 14; top = 62 + key_more; bottom = 56 + 11 * caption_lines; between = 18
has_change = 0
do for [c=1:columns] { if (strlen(drawn(c, 3)) > 0) { has_change = 1 } }
panels = has_change ? 2 : 1
cell_w = (width - left - right - between * (columns - 1)) / columns
cell_h = (height - top - bottom - between * (panels - 1)) / panels
# One scale for a row of panels; the baseline is drawn in the first.
array bottom_of[2] = [1e300, 1e300]
array top_of[2] = [-1e300, -1e300]
do for [c=1:columns] {
    do for [r=1:rows] {
        p = r == 3 ? 2 : 1
        if (strlen(drawn(c, r)) > 0) {
            if (lowest[cell(c, r)] < bottom_of[p]) { bottom_of[p] = lowest[cell(c, r)] }
            if (highest[cell(c, r)] > top_of[p]) { top_of[p] = highest[cell(c, r)] }
        }
    }
}
set multiplot
eval(before_key)
plot NaN notitle, keyentry with lines lt 1 title "baseline", \
     for [s=1:series] keyentry with linespoints lt style(s) ps 0.8 \
         title (series_name[s] eq "baseline" ? "" : series_name[s])
eval(after_key)
do for [c=1:columns] {
    do for [p=1:panels] {
        r = p == 1 ? 1 : 3
        room = top_of[p] > bottom_of[p] ? 0.06 * (top_of[p] - bottom_of[p]) : 0.05
        set lmargin at screen pixel_x(left + (c - 1) * (cell_w + between))
        set rmargin at screen pixel_x(left + (c - 1) * (cell_w + between) + cell_w)
        set tmargin at screen pixel_y(top + (p - 1) * (cell_h + between))
        set bmargin at screen pixel_y(top + (p - 1) * (cell_h + between) + cell_h)
        set xrange [0.5:category_count[c] + 0.5]
        set yrange [bottom_of[p] - room:top_of[p] + room]
        set xtics ("" -1) nomirror scale 0.5 font ",9"
        if (p == panels) { set xlabel column_name[c] offset 0,0.5 } else { unset xlabel }
        do for [k=1:category_count[c]] { set xtics add ((p == panels ? category[category_first[c] + k] : "") k) }
        unset label 4
        if (c == 1) { set label 4 (p == 1 ? "validation loss, nats" : "change, %") @y_label }
        set format y (c == 1 ? "%g" : "")
        unset arrow 1
        # gnuplot draws what lies outside the axes over the neighbours
        if (p == 2 && bottom_of[p] - room < 0 && top_of[p] + room > 0) {
            set arrow 1 from graph 0, first 0 to graph 1, first 0 nohead lt 1 lw 1 back
        }
        b = p == 1 ? 2 : rows + 1
        plot for [s in drawn(c, b)] $lines index set_of(c, 2, at(s)) using 1:3:4 with filledcurves fc rgb "#000000" \
                 fs transparent solid 0.10 noborder notitle, \
             for [s in drawn(c, b)] $lines index set_of(c, 2, at(s)) using 1:2 with lines lt 1 notitle, \
             for [s in drawn(c, r)] $values index set_of(c, r, at(s)) using 1:2 with points \
                 lc rgb colour(at(s)) pt 6 ps 0.6 notitle, \
             for [s in drawn(c, r)] $lines index set_of(c, r, at(s)) using 1:2 with linespoints \
                 lt style(at(s)) ps 0.8 notitle
        print say_axes(c, r)
    }
}
unset multiplot
