package assign

import (
	"cmp"
	"errors"
	"math"
	"slices"
)

// tree is a basis of the network simplex method: nodes are the rows, then the columns, that
// have weight, and a root. An arc goes from a row to a column, as a cost has it, or is an
// artificial one, from a row to the root or from the root to a column, at a cost that no
// plan pays that need not. Each node but the root holds the arc to its parent.
type tree struct {
	cost           []float64 // [n, m], of all points
	m              int
	rows, columns  []int // that have weight, of all points
	supply, demand []float64
	arcs           []float64 // [rows, columns]: costs between those

	artificial float64 // cost of an arc with the root
	tolerance  float64 // below which a reduced cost is rounding

	// By node:
	parent                 []int
	flow                   []float64 // of the arc to the parent
	potential              []float64 // of a row u, of a column v: u + v is the cost of an arc of the tree
	depth                  []int
	child, sibling, before []int // first child, next and previous child of the parent; −1: none
	stack                  []int

	next int // where the search for an arc goes on
}

func newTree(cost []float64, m int) *tree { return &tree{cost: cost, m: m} }

// root is the last node.
func (t *tree) root() int { return len(t.rows) + len(t.columns) }

func (t *tree) isRow(node int) bool { return node < len(t.rows) }

// arc is the cost of the arc between a row and a column, given as nodes.
func (t *tree) arc(row, column int) float64 {
	return t.arcs[row*len(t.columns)+column-len(t.rows)]
}

// between is the cost of the arc between a node and its parent.
func (t *tree) between(node, parent int) float64 {
	switch {
	case parent == t.root():
		return t.artificial
	case t.isRow(node):
		return t.arc(node, parent)
	}
	return t.arc(parent, node)
}

// start hangs every node on the root.
func (t *tree) start() {
	root := t.root()
	if t.arcs = t.cost; len(t.arcs) != len(t.rows)*len(t.columns) {
		t.arcs = make([]float64, 0, len(t.rows)*len(t.columns))
		for _, i := range t.rows {
			for _, j := range t.columns {
				t.arcs = append(t.arcs, t.cost[i*t.m+j])
			}
		}
	}
	var size float64
	for _, c := range t.cost {
		size = max(size, math.Abs(c))
	}
	if size == 0 {
		size = 1
	}
	t.artificial = size * float64(root+1)
	t.tolerance = 1e-14 * t.artificial
	nodes := root + 1
	t.parent, t.depth = make([]int, nodes), make([]int, nodes)
	t.child, t.sibling, t.before = slices.Repeat([]int{-1}, nodes), slices.Repeat([]int{-1}, nodes), slices.Repeat([]int{-1}, nodes)
	t.potential = make([]float64, nodes)
	t.flow = slices.Concat(t.supply, t.demand, []float64{0})
	t.parent[root] = -1
	for node := range root {
		t.hang(node, root)
		t.potential[node], t.depth[node] = t.artificial, 1
	}
}

// hang makes a node a child of another.
func (t *tree) hang(node, parent int) {
	first := t.child[parent]
	t.parent[node], t.sibling[node], t.before[node] = parent, first, -1
	if first >= 0 {
		t.before[first] = node
	}
	t.child[parent] = node
}

// cut takes a node from its parent.
func (t *tree) cut(node int) {
	left, right := t.before[node], t.sibling[node]
	if left >= 0 {
		t.sibling[left] = right
	} else {
		t.child[t.parent[node]] = right
	}
	if right >= 0 {
		t.before[right] = left
	}
}

// solve pivots until no arc would lower the cost.
func (t *tree) solve() error {
	t.start()
	for pivots := 0; ; pivots++ {
		row, column := t.entering()
		if row < 0 {
			return nil
		}
		if pivots > 1000*(t.root()+10) { // two to ten a node are usual, and none comes twice but for rounding
			return errors.New("assign: weights or costs are of too different sizes for exact transport; divide them by their largest, or leave out those that are nothing beside it")
		}
		t.pivot(row, column)
	}
}

// entering returns the arc of least reduced cost in the next block of arcs that has a
// negative one, row −1 for none.
func (t *tree) entering() (row, column int) {
	n, m := len(t.rows), len(t.columns)
	block := max(20, int(math.Sqrt(float64(n*m))))
	best, found, left := -t.tolerance, -1, block
	at := t.next
	v := t.potential[n:][:m]
	for all := n * m; all > 0; {
		i, j := at/m, at%m
		u, some := t.potential[i], min(m-j, left, all)
		v := v[j:][:some]
		for k, cost := range t.arcs[at:][:some] {
			if reduced := cost - u - v[k]; reduced < best {
				best, found = reduced, at+k
			}
		}
		if at += some; at == n*m {
			at = 0
		}
		all -= some
		if left -= some; left == 0 {
			if found >= 0 {
				break
			}
			left = block
		}
	}
	t.next = at
	if found < 0 {
		return -1, -1
	}
	return found / m, n + found%m
}

// pivot brings an arc into the tree. Along the cycle that it closes mass moves until an arc
// is empty. On the way up from the row those of rows lose, on the way up from the column
// those of columns: the others gain.
func (t *tree) pivot(row, column int) {
	apex := t.meet(row, column)
	least, out := math.Inf(1), -1
	for node := row; node != apex; node = t.parent[node] {
		if t.isRow(node) && t.flow[node] < least {
			least, out = t.flow[node], node
		}
	}
	inner := row // the end of the new arc on the side that the tree loses
	outer := column
	for node := column; node != apex; node = t.parent[node] {
		if !t.isRow(node) && t.flow[node] <= least { // the last of the cycle: strongly feasible
			least, out = t.flow[node], node
			inner, outer = column, row
		}
	}
	for node := row; node != apex; node = t.parent[node] {
		t.shift(node, least, t.isRow(node))
	}
	for node := column; node != apex; node = t.parent[node] {
		t.shift(node, least, !t.isRow(node))
	}
	t.turn(inner, outer, out, least)
	t.refresh(inner)
}

// shift takes mass from the arc of a node, or gives it.
func (t *tree) shift(node int, mass float64, take bool) {
	if take {
		mass = -mass
	}
	t.flow[node] += mass
}

// meet returns the first common ancestor.
func (t *tree) meet(a, b int) int {
	for a != b {
		if t.depth[a] >= t.depth[b] {
			a = t.parent[a]
		} else {
			b = t.parent[b]
		}
	}
	return a
}

// turn takes the subtree below the arc of out away, and hangs it by inner, which is in it,
// on outer: the arcs between inner and out turn round.
func (t *tree) turn(inner, outer, out int, mass float64) {
	node, parent, flow := inner, outer, mass
	for {
		above, held := t.parent[node], t.flow[node]
		t.cut(node)
		t.hang(node, parent)
		t.flow[node] = flow
		if node == out {
			return
		}
		node, parent, flow = above, node, held
	}
}

// refresh computes potentials and depths of a subtree from those of its parent.
func (t *tree) refresh(top int) {
	t.stack = append(t.stack[:0], top)
	for len(t.stack) > 0 {
		node := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		parent := t.parent[node]
		t.depth[node] = t.depth[parent] + 1
		above := t.potential[parent]
		t.potential[node] = t.between(node, parent) - above
		for child := t.child[node]; child >= 0; child = t.sibling[child] {
			t.stack = append(t.stack, child)
		}
	}
}

// plan reads an optimal tree, whose masses are in units of scale, for n and m points.
func (t *tree) plan(n, m int, scale float64) Plan {
	// Without artificial costs potentials are as small as costs, and as exact. (At the
	// optimum all that hangs on the root are rows, or all columns: so all move alike.)
	t.artificial = 0
	for node := t.child[t.root()]; node >= 0; node = t.sibling[node] {
		t.refresh(node)
	}
	p := Plan{F: slices.Repeat([]float64{math.Inf(1)}, n), G: slices.Repeat([]float64{math.Inf(1)}, m)}
	for node := range t.root() {
		parent := t.parent[node]
		if parent == t.root() || t.flow[node] <= 0 {
			continue
		}
		row, column := node, parent
		if !t.isRow(node) {
			row, column = parent, node
		}
		p.Moves = append(p.Moves, Move{t.rows[row], t.columns[column-len(t.rows)], t.flow[node] * scale})
		p.Cost += t.flow[node] * scale * t.arc(row, column)
	}
	slices.SortFunc(p.Moves, func(a, b Move) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	// The largest potentials that the others allow, as for points without weight: the bound
	// holds then whatever rounding has done to them.
	for k, j := range t.columns {
		p.G[j] = t.potential[len(t.rows)+k]
	}
	for i := range n {
		for _, j := range t.columns {
			p.F[i] = min(p.F[i], t.cost[i*m+j]-p.G[j])
		}
	}
	for j := range m {
		if !math.IsInf(p.G[j], 1) {
			continue
		}
		for i := range n {
			p.G[j] = min(p.G[j], t.cost[i*m+j]-p.F[i])
		}
	}
	for k, i := range t.rows {
		p.Dual += t.supply[k] * scale * p.F[i]
	}
	for k, j := range t.columns {
		p.Dual += t.demand[k] * scale * p.G[j]
	}
	return p
}
