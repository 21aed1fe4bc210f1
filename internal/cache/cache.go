// Package cache keeps files by their SHA-256, checks them at each use, and lets several
// processes work in one folder.
package cache

// Cache is a folder of files named by their SHA-256. Its zero value is of no use; see Open.
type Cache struct{ root string }

// Root gives the folder.
func (c *Cache) Root() string { return c.root }
