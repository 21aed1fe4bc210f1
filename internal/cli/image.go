package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"observer-patch/internal/exit"
	"observer-patch/internal/image"
)

// imageFlags are what image and image base have in common.
type imageFlags struct {
	out, tag, push string
	platforms      []string
	registry       image.Registry
	dryRun         bool
	format         string
}

func (i *imageFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&i.out, "out", "", "folder for the OCI layout; it must be new or empty")
	f.StringVar(&i.tag, "tag", "", "reference name in the layout's index.json, e.g. 4.1.0-observer")
	f.StringVar(&i.push, "push", "", "registry reference (host[:port]/name:tag) to send the images to")
	f.StringSliceVar(&i.platforms, "platform", []string{"linux/amd64", "linux/arm64"}, "platforms to make images for")
	f.BoolVar(&i.dryRun, "dry-run", false, "check everything and print the digests, write and send nothing")
	f.BoolVar(&i.registry.Insecure, "insecure", false, "talk plain HTTP to registries; not needed for loopback addresses")
	formatFlag(cmd, &i.format)
}

func (i *imageFlags) check() error {
	if err := checkFormat(i.format); err != nil {
		return err
	}
	if i.out == "" && i.push == "" && !i.dryRun {
		return exit.With(exit.Usage, errors.New("nowhere to put the image: expected --out DIR, --push REF, or both"))
	}
	if i.out != "" {
		return image.MayWrite(i.out)
	}
	return nil
}

// finish writes, pushes and prints a result.
func (i *imageFlags) finish(ctx context.Context, env *Env, r *image.Result) error {
	if i.out != "" && !i.dryRun {
		if err := r.Write(i.out, i.tag); err != nil {
			return err
		}
	}
	if i.push != "" && !i.dryRun {
		at, err := r.Push(ctx, i.push, i.registry)
		if err != nil {
			return err
		}
		env.Log.Info("pushed", "image", at)
	}
	rows := []imageRow{{Platform: "index", Digest: r.Digest}}
	for _, m := range r.Images {
		rows = append(rows, imageRow{Platform: m.Platform, Digest: m.Digest, Base: m.Base, Layer: m.Layer, Jars: m.Jars})
	}
	return printRows(env.Out, i.format, rows, imageTable)
}

// imageRow is one line of output: first the index, then each platform.
type imageRow struct {
	Platform string      `json:"platform"`
	Digest   string      `json:"digest"`
	Base     string      `json:"base,omitempty"`
	Layer    string      `json:"layer,omitempty"`
	Jars     []image.Jar `json:"jars,omitempty"`
}

func imageTable(w table.Writer, rows []imageRow) {
	w.AppendHeader(table.Row{"platform", "digest", "base", "layer", "jars"})
	for _, r := range rows {
		var jars []string
		for _, j := range r.Jars {
			jars = append(jars, j.Path)
		}
		w.AppendRow(table.Row{r.Platform, r.Digest, short(r.Base), short(r.Layer), strings.Join(jars, "\n")})
	}
}

func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

func newImageCommand(env *Env) *cobra.Command {
	var i imageFlags
	var sig signatureFlags
	var from, libs string
	cmd := &cobra.Command{
		Use:   "image BUNDLE --base IMAGE",
		Short: "Make OCI images of patched brokers from a base image and a bundle",
		Long: `Put a bundle's changed jars over the release's own in a base image, as one layer, for every
platform, without a container engine. IMAGE is an OCI layout (folder), an archive (file) or a
registry reference that names its registry. The base's jars must be those the bundle was made
for, as install asks it of a Kafka home: otherwise exit code 5, and nothing is written. A jar that
the base has under another name is replaced by one with the release's.

Parts list, provenance of image and jars, and the bundle's other documents are attached as OCI
referrers. The same base and bundle give the same digests. What the base says of itself in labels
(title, vendor, …) goes.

'observer-patch image base' makes a base from the published jars.`,
		Example: `  observer-patch image base --version 4.1.0 --out base
  observer-patch image dist/4.1.0-kraft --base base --out patched --tag 4.1.0-observer
  observer-patch image dist/4.1.0-kraft --base registry.example/kafka:4.1.0 --push registry.example/kafka-observer:4.1.0`,
		Args: oneArgument("a bundle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if from == "" {
				return exit.With(exit.Usage, errors.New("--base is missing; expected an OCI layout, an archive or a registry reference"))
			}
			if err := errors.Join(i.check(), sig.complete()); err != nil {
				return err
			}
			if err := sig.check(cmd.Context(), args[0]); err != nil {
				return err
			}
			return withTemp(func(temp string) error {
				base, err := image.Open(cmd.Context(), from, i.registry, temp)
				if err != nil {
					return err
				}
				r, err := image.Make(cmd.Context(), image.Spec{Bundle: args[0], Base: base, Platforms: i.platforms, Libs: libs, Tool: env.Version, Temp: temp})
				if err != nil {
					return err
				}
				return i.finish(cmd.Context(), env, r)
			})
		},
	}
	i.flags(cmd)
	sig.flags(cmd.Flags())
	cmd.Flags().StringVar(&from, "base", "", "base image: OCI layout, archive or registry reference")
	cmd.Flags().StringVar(&libs, "libs", "", "the base's folder with the jars that brokers run; default: found by their classes")
	cmd.AddCommand(newImageBaseCommand(env))
	return cmd
}

func newImageBaseCommand(env *Env) *cobra.Command {
	var i imageFlags
	var sel selection
	var from, home string
	var offline bool
	cmd := &cobra.Command{
		Use:   "base --version V --out DIR",
		Short: "Make a base image from a release's published jars",
		Long: `Put the published jars of a release, with what they need at run time, into one layer below
HOME/libs, unchanged. With --from the layer goes on that image, one with a Java runtime for
instance; without it there is nothing else in the image, no Java either: an example that needs no
registry, and enough to unpack and run with a Java from elsewhere.`,
		Example: `  observer-patch image base --version 4.1.0 --from registry.example/jre:17 --push registry.example/kafka:4.1.0`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := i.check(); err != nil {
				return err
			}
			targets, err := sel.targets(env)
			if err != nil {
				return err
			}
			if len(targets) != 1 {
				return exit.With(exit.Usage, fmt.Errorf("--version, --mode, --scala and --set choose %d targets; an image is of one", len(targets)))
			}
			l := labFlags{offline: offline}
			jars, err := l.classpath(cmd.Context(), env, targets[0])
			if err != nil {
				return err
			}
			return withTemp(func(temp string) error {
				p := image.Published{Release: targets[0].Release.String(), Jars: jars, Home: home, Platforms: i.platforms, Temp: temp}
				if from != "" {
					if p.From, err = image.Open(cmd.Context(), from, i.registry, temp); err != nil {
						return err
					}
				}
				r, err := image.MakeBase(p)
				if err != nil {
					return err
				}
				return i.finish(cmd.Context(), env, r)
			})
		},
	}
	i.flags(cmd)
	sel.flags(cmd.Flags())
	cmd.Flags().StringVar(&from, "from", "", "image to put the jars on: OCI layout, archive or registry reference; default: none")
	cmd.Flags().StringVar(&home, "home", "/opt/kafka", "the Kafka home in the image")
	cmd.Flags().BoolVar(&offline, "offline", false, "use only what is in the cache and the local Maven repository")
	return cmd
}

// withTemp runs work with a folder that is gone afterwards.
func withTemp(work func(temp string) error) (err error) {
	temp, err := os.MkdirTemp("", "observer-patch-image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	return work(filepath.Clean(temp))
}
