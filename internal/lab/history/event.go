// Package history holds what a lab run recorded: every operation, view of the cluster, file
// edit and fault with its time. Verdicts are computed from it and from nothing else.
package history

// Event is one line of events.jsonl. Exactly one of the pointers is set.
type Event struct {
	// At is when the event was complete, in milliseconds since the run began.
	At    float64     `json:"t"`
	Op    *Op         `json:"op,omitempty"`
	View  *View       `json:"view,omitempty"`
	Edit  *Edit       `json:"edit,omitempty"`
	Fault *Fault      `json:"fault,omitempty"`
	Read  *Read       `json:"read,omitempty"`
	Log   *ReplicaLog `json:"log,omitempty"`
	Mark  *Mark       `json:"mark,omitempty"`
	Line  *Line       `json:"line,omitempty"`
	Move  *Move       `json:"move,omitempty"`
	Jars  *Jars       `json:"jars,omitempty"`
}

// Outcomes of a produced record.
const (
	Acked   = ""        // acknowledged with acks=all, its transaction committed when it has one
	Failed  = "failed"  // the broker refused it: it is not in the log
	Unknown = "unknown" // no answer: it may be in the log
	Aborted = "aborted" // its transaction was aborted: in the log, but not for read_committed
)

// Op is one produced record. Seq counts from 0 per producer and partition.
type Op struct {
	Producer  string `json:"p"`
	Topic     string `json:"topic"`
	Partition int32  `json:"k"`
	Seq       int64  `json:"s"`
	// Start and End are milliseconds since the run began.
	Start float64 `json:"b"`
	End   float64 `json:"e"`
	// Offset is the acknowledged offset; it means nothing for other outcomes.
	Offset  int64  `json:"o"`
	Outcome string `json:"x,omitempty"`
	Err     string `json:"err,omitempty"`
}

// View is one sample of the cluster, taken in the order high watermarks, metadata, log end
// offsets, so that a log end below the sampled watermark proves that the replica was behind.
type View struct {
	// From is when the sample began, milliseconds since the run began.
	From float64 `json:"from"`
	// Via is the broker whose metadata this is; two brokers may know different things.
	Via        int32       `json:"via"`
	Controller int32       `json:"controller"`
	Brokers    []int32     `json:"brokers"`
	Partitions []Partition `json:"parts"`
	// Eligible says that the partitions' ELR was asked for (KIP-966); without it ELR is empty.
	Eligible bool `json:"eligible,omitempty"`
}

// Partition is one partition in a View.
type Partition struct {
	Topic    string  `json:"topic"`
	ID       int32   `json:"k"`
	Leader   int32   `json:"leader"`
	Epoch    int32   `json:"epoch"`
	Replicas []int32 `json:"replicas"`
	ISR      []int32 `json:"isr"`
	ELR      []int32 `json:"elr,omitempty"`
	// HW is the leader's high watermark, -1 when nobody answered.
	HW int64 `json:"hw"`
	// LEO are log end offsets by broker; brokers that did not answer are missing.
	LEO map[int32]int64 `json:"leo,omitempty"`
}

// Edit is a deliberate change of the identity files of some nodes.
type Edit struct {
	Nodes []int32 `json:"nodes"`
	IDs   []int32 `json:"ids"`
	// Began is when the first file was touched; Event.At is when the last one was renamed in.
	Began float64 `json:"began"`
	// Initial says that the nodes have had these files since before the run's topic existed.
	Initial bool `json:"initial,omitempty"`
}

// Phases of a fault.
const (
	Inject = "inject"
	Heal   = "heal"
)

// Fault is the moment a fault was injected or healed.
type Fault struct {
	Name    string  `json:"name"`
	Phase   string  `json:"phase"`
	Targets []int32 `json:"targets"`
	// Began is when the injection started; Event.At is when it was done.
	Began  float64 `json:"began"`
	Detail string  `json:"detail,omitempty"`
}

// Run is N records of one producer with consecutive sequence numbers at consecutive offsets.
type Run struct {
	Offset   int64  `json:"o"`
	Producer string `json:"p"`
	Seq      int64  `json:"s"`
	N        int64  `json:"n"`
}

// Read is the whole log of a partition as a consumer saw it.
type Read struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"k"`
	Committed bool   `json:"committed"` // isolation level read_committed
	End       int64  `json:"end"`       // the offset at which reading stopped
	Runs      []Run  `json:"runs"`
	// Rack is the consumer's rack (KIP-392), empty for one that reads from the leader; Broker is the
	// broker that served its records, 0 when that was not one alone or was not looked at.
	Rack   string `json:"rack,omitempty"`
	Broker int32  `json:"broker,omitempty"`
}

// ReplicaLog is the content of one replica's segment files.
type ReplicaLog struct {
	Broker    int32  `json:"broker"`
	Topic     string `json:"topic"`
	Partition int32  `json:"k"`
	Leader    bool   `json:"leader,omitempty"`
	Batches   int64  `json:"batches"`
	Bytes     int64  `json:"bytes"`
	// SHA256 is over all batches in order, segment boundaries left out.
	SHA256 string `json:"sha256"`
	// End is the offset after the last record.
	End int64 `json:"end"`
	// Err is the first damage found (CRC, magic, order), empty for a sound log.
	Err string `json:"err,omitempty"`
}

// Mark is a named moment or number of a scenario.
type Mark struct {
	Name      string `json:"name"`
	Partition int32  `json:"k,omitempty"`
	Value     int64  `json:"value"`
	Text      string `json:"text,omitempty"`
}

// Line is a line of a node's log that a scenario waited for or cites.
type Line struct {
	Node int32  `json:"node"`
	Text string `json:"text"`
}

// Move is a reassignment that was accepted, or cancelled: then Target is empty.
type Move struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"k"`
	Target    []int32 `json:"target"`
	// Began is when it was sent; Event.At is when it was answered.
	Began float64 `json:"began"`
}

// Jars says which jars a node was started on, when that is not what all nodes run.
type Jars struct {
	Node int32  `json:"node"`
	Name string `json:"name"`
}
