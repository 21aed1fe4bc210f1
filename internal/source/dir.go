package source

import (
	"fmt"
	"io/fs"
	"os"
)

// gradleRoot is the file that upstream's Gradle build starts from.
const gradleRoot = "settings.gradle"

// Dir gives the tree in a folder. Links that lead out of it are not followed.
func Dir(path string) (*Tree, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("source folder: %w; expected upstream's source tree", err)
	}
	_, err = fs.Stat(root.FS(), gradleRoot)
	return &Tree{FS: root.FS(), Origin: "dir " + path, Whole: err == nil, Close: root.Close}, nil
}
