package scenario

import (
	"slices"

	"github.com/Masterminds/semver/v3"

	"observer-patch/internal/release"
)

// Layout is the kind of cluster that a scenario runs on. Scenarios with equal ones share a cluster.
type Layout struct {
	Brokers     int `json:"brokers"`
	Controllers int `json:"controllers"`
	// Features are given to the formatting of storage.
	Features []string `json:"features,omitempty"`
	// NodeJars names the jars of those nodes that do not start on the leg's own.
	NodeJars map[int32]string `json:"node_jars,omitempty"`
	// First is a broker that starts before the others.
	First int32 `json:"first,omitempty"`
	// Linked is a broker behind a link that can be cut, where the machine permits.
	Linked int32 `json:"linked,omitempty"`
}

// Jars beside the leg's own.
const (
	Upstream = "upstream" // the release as it was published
	ZKOnly   = "zk"       // the bundle of mode zk
	Next     = "next"     // the bundle of the release that S13 upgrades to
	// NextUpstream is that release as it was published.
	NextUpstream = "next-upstream"
)

// NextRelease is the release that S13 upgrades to.
const NextRelease = "4.1.0"

// The usual cluster: brokers 1 to 3 hold sync replicas, 4 is the observer and comes last.
const (
	Brokers     = 4
	Controllers = 3
	Observer    = int32(4)
	// Spare is the fifth broker, where there is one.
	Spare = int32(5)
)

// five is the usual cluster with a spare broker.
func five(Plan) Layout { return Layout{Brokers: 5} }

// withoutELR is a cluster without eligible leader replicas.
func withoutELR(Plan) Layout { return Layout{Features: []string{elrOff}} }

const elrOff = "eligible.leader.replicas.version=0"

// complete fills in what a layout leaves open, and takes out what the release or the mode does not know.
func (p *Plan) complete() {
	if p.Brokers == 0 {
		p.Brokers = Brokers
	}
	if p.Controllers == 0 {
		p.Controllers = Controllers
	}
	if p.Mode == release.ZK {
		p.Controllers = 0
	}
	if p.Mode == release.ZK || !hasELR(p.Release) {
		p.Features = slices.DeleteFunc(slices.Clone(p.Features), func(f string) bool { return f == elrOff })
	}
	if len(p.Features) == 0 {
		p.Features = nil
	}
	p.Eligible = p.Mode == release.KRaft && hasELR(p.Release) && !slices.Contains(p.Features, elrOff)
}

// hasELR tells whether new clusters of the release have eligible leader replicas on (KIP-966: 4.1).
func hasELR(version string) bool { return atLeast(version, 4, 1) }

func atLeast(version string, major, minor uint64) bool {
	v, err := semver.NewVersion(version)
	return err == nil && !v.LessThan(semver.New(major, minor, 0, "", ""))
}

// nodes gives all controllers and brokers of the plan, controllers first.
func (p Plan) nodes() []int32 {
	var out []int32
	for i := range p.Controllers {
		out = append(out, 101+int32(i))
	}
	for i := range p.Brokers {
		out = append(out, 1+int32(i))
	}
	return out
}
