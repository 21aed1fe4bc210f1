package release

// DefaultSet is the set that commands take when --set does not say otherwise.
const DefaultSet = Full

// Generation counts the patches that this tool has written: it goes up when a hook, a place or a
// format changes in a way that a patched node can notice.
const Generation = 1
