package cli

import (
	"context"
	"errors"
	"fmt"

	"observer-patch/internal/lab/campaign"
	"observer-patch/internal/lab/scenario"
	"observer-patch/internal/release"
)

// classpath gives the release's own jars with a logging binding, in the locked order.
func (l *labFlags) classpath(ctx context.Context, env *Env, t release.Target) (paths []string, err error) {
	lock, err := readLock(env)
	if err != nil {
		return nil, err
	}
	list, err := lock.Artifacts(t.Release.String(), "lab/"+t.Scala)
	if err != nil {
		return nil, err
	}
	resolver, err := newResolver(env, l.offline)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resolver.Cache.Close()) }()
	artifacts, err := resolver.Resolve(ctx, list)
	if err != nil {
		return nil, err
	}
	for _, a := range artifacts {
		paths = append(paths, a.Path)
	}
	return paths, nil
}

// patched gives the class path with the jars of the bundle that serves the mode, and their names.
func (l *labFlags) patched(upstream []string, t release.Target, mode release.Mode) (classpath, names []string, err error) {
	own, both := t, t
	own.Mode, both.Mode = mode, release.Both
	dir, err := bundleDir(l.dist, own.String(), both.String())
	if err != nil {
		return nil, nil, err
	}
	return campaign.Overlay(upstream, dir)
}

// others gives the class paths beside the leg's own that scenarios have named.
func (l *labFlags) others(ctx context.Context, env *Env, t release.Target, upstream []string, names []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, name := range names {
		var err error
		switch name {
		case scenario.Upstream:
			out[name] = upstream
		case scenario.ZKOnly:
			zk := t
			zk.Mode = release.ZK
			var dir string
			if dir, err = bundleDir(l.dist, zk.String(), zk.String()); err == nil {
				out[name], _, err = campaign.Overlay(upstream, dir)
			}
		case scenario.Next:
			_, out[name], err = l.next(ctx, env, t)
		case scenario.NextUpstream:
			out[name], _, err = l.next(ctx, env, t)
		default:
			err = errors.New("no such jars")
		}
		if err != nil {
			return nil, fmt.Errorf("jars %q, which a scenario starts nodes on: %w", name, err)
		}
	}
	return out, nil
}

// next gives the class paths of the release that a cluster of t is upgraded to, as it was published
// and patched.
func (l *labFlags) next(ctx context.Context, env *Env, t release.Target) (upstream, patched []string, err error) {
	matrix, err := readMatrix(env)
	if err != nil {
		return nil, nil, err
	}
	targets, err := matrix.Targets([]string{scenario.NextRelease}, string(release.KRaft), "", string(t.Set))
	if err != nil {
		return nil, nil, err
	}
	upstream, err = l.classpath(ctx, env, targets[0])
	if err != nil {
		return nil, nil, err
	}
	patched, _, err = l.patched(upstream, targets[0], release.KRaft)
	return upstream, patched, err
}
