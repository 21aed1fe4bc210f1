package jar

import "slices"

// Comparison sorts the entries of two jars by what became of them; names are sorted.
type Comparison struct {
	Identical []string `json:"identical"` // the same content in both
	Replaced  []string `json:"replaced"`  // in both, with other content
	Added     []string `json:"added"`     // in the second only
	Removed   []string `json:"removed"`   // in the first only
}

// Compare compares two jars entry by entry, by the SHA-256 of the unpacked content. Order,
// times and packing do not count.
func Compare(before, after string) (Comparison, error) {
	a, err := Digests(before)
	if err != nil {
		return Comparison{}, err
	}
	b, err := Digests(after)
	if err != nil {
		return Comparison{}, err
	}
	var c Comparison
	for name, sum := range a {
		switch other, ok := b[name]; {
		case !ok:
			c.Removed = append(c.Removed, name)
		case other == sum:
			c.Identical = append(c.Identical, name)
		default:
			c.Replaced = append(c.Replaced, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			c.Added = append(c.Added, name)
		}
	}
	for _, names := range [][]string{c.Identical, c.Replaced, c.Added, c.Removed} {
		slices.Sort(names)
	}
	return c, nil
}

// Digests gives the SHA-256 of the unpacked content of every entry of a jar, by name.
func Digests(path string) (map[string]string, error) {
	j, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	entries, err := j.Entries()
	if err != nil {
		return nil, err
	}
	sums := make(map[string]string, len(entries))
	for _, e := range entries {
		sums[e.Name] = e.SHA256
	}
	return sums, nil
}
