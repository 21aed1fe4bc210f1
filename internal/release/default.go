package release

// DefaultSet is the set that commands take when --set does not say otherwise.
const DefaultSet = Base
