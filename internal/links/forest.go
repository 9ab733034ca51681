package links

// forest are sessions, each of which may lead to one other, without circles. It answers
// where a path ends and how long it is without walking along it: a file of links that
// somebody made may have long paths, and each of its lines asks. It is a link-cut tree
// (Sleator and Tarjan, 1983), without the reversal of paths: all is O(log n), amortised.
type forest struct {
	nodes []node
	steps int // how many nodes were rotated, for tests
}

// node is one session. Sessions of one path whose links were used last form a splay tree,
// ordered from the end of the path; up of its root leads to the next such path.
type node struct {
	up          int32 // the parent, in the splay tree or to the next one; 0 for none
	left, right int32 // in the splay tree; left is nearer to the end of the path
	size        int32 // of the splay tree below, itself included
}

// add makes a session that leads nowhere. Its number is never 0.
func (f *forest) add() int32 {
	if len(f.nodes) == 0 {
		f.nodes = append(f.nodes, node{}) // 0 is none
	}
	f.nodes = append(f.nodes, node{size: 1})
	return int32(len(f.nodes) - 1)
}

// link lets x, which leads nowhere, lead to y. y must not lead to x.
func (f *forest) link(x, y int32) {
	f.expose(x)
	f.nodes[x].up = y
}

// cut lets x lead nowhere.
func (f *forest) cut(x int32) {
	f.expose(x)
	if left := f.nodes[x].left; left != 0 {
		f.nodes[left].up = 0
		f.nodes[x].left = 0
		f.measure(x)
	}
}

// end is where the path from x ends, and over how many links.
func (f *forest) end(x int32) (end int32, links int) {
	f.expose(x)
	links = int(f.nodes[f.nodes[x].left].size)
	for end = x; f.nodes[end].left != 0; end = f.nodes[end].left {
		f.steps++
	}
	f.splay(end)
	return end, links
}

// expose makes the path from x to its end one splay tree, with x as its root.
func (f *forest) expose(x int32) {
	last := int32(0)
	for y := x; y != 0; y = f.nodes[y].up {
		f.splay(y)
		f.nodes[y].right = last
		f.measure(y)
		last = y
	}
	f.splay(x)
}

func (f *forest) measure(x int32) {
	n := &f.nodes[x]
	n.size = f.nodes[n.left].size + f.nodes[n.right].size + 1
}

// isRoot reports whether x is the root of its splay tree.
func (f *forest) isRoot(x int32) bool {
	up := f.nodes[x].up
	return up == 0 || f.nodes[up].left != x && f.nodes[up].right != x
}

func (f *forest) splay(x int32) {
	for !f.isRoot(x) {
		up := f.nodes[x].up
		if !f.isRoot(up) {
			if top := f.nodes[up].up; (f.nodes[up].left == x) == (f.nodes[top].left == up) {
				f.rotate(up)
			} else {
				f.rotate(x)
			}
		}
		f.rotate(x)
	}
}

// rotate puts x in the place of its parent.
func (f *forest) rotate(x int32) {
	f.steps++
	up := f.nodes[x].up
	top, wasRoot := f.nodes[up].up, f.isRoot(up)
	var between int32
	if f.nodes[up].left == x {
		between = f.nodes[x].right
		f.nodes[up].left, f.nodes[x].right = between, up
	} else {
		between = f.nodes[x].left
		f.nodes[up].right, f.nodes[x].left = between, up
	}
	if between != 0 {
		f.nodes[between].up = up
	}
	if !wasRoot {
		if f.nodes[top].left == up {
			f.nodes[top].left = x
		} else {
			f.nodes[top].right = x
		}
	}
	f.nodes[up].up, f.nodes[x].up = x, top
	f.measure(up)
	f.measure(x)
}
