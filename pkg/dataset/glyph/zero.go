package glyph

import "slices"

// withoutSlash mends a zero. The zeros of the Go fonts are slashed, which
// splits the hole in two, and nobody writes them so. The convex hull of both
// halves is the whole hole. The halves come after the outer curve.
func (o outline) withoutSlash() outline {
	if len(o) != 3 {
		return o
	}
	hole := hull(append(slices.Clone(o[1]), o[2]...))
	if (area(hole) > 0) != (area(o[1]) > 0) {
		slices.Reverse(hole)
	}
	return outline{o[0], hole}
}

// area returns twice the signed area of a polygon.
func area(polygon []point) int {
	sum := 0
	a := polygon[len(polygon)-1]
	for _, b := range polygon {
		sum += cross(a, b)
		a = b
	}
	return sum
}

func cross(a, b point) int { return a.x*b.y - a.y*b.x }

// hull returns the convex hull of points, which it sorts (A. M. Andrew,
// Another efficient algorithm for convex hulls in two dimensions, 1979).
func hull(points []point) []point {
	slices.SortFunc(points, func(a, b point) int {
		if a.x != b.x {
			return a.x - b.x
		}
		return a.y - b.y
	})
	upper := chain(points)
	slices.Reverse(points)
	lower := chain(points)
	return append(upper[:len(upper)-1], lower[:len(lower)-1]...)
}

// chain returns the part of the hull on one side of sorted points.
func chain(points []point) []point {
	var c []point
	for _, p := range points {
		for len(c) > 1 {
			a, b := c[len(c)-2], c[len(c)-1]
			if cross(point{b.x - a.x, b.y - a.y}, point{p.x - b.x, p.y - b.y}) > 0 {
				break
			}
			c = c[:len(c)-1]
		}
		c = append(c, p)
	}
	return c
}
