package hosts

// TransportSpec are the settings of a transport. Only those of its kind may be given.
type TransportSpec struct {
	Kind Kind `yaml:"kind"`

	// User, Port, Key (a private key's path; empty for the agent), KnownHosts (a path; empty for
	// ~/.ssh/known_hosts), Jump ([user@]host[:port] of a host to go through), Proxy (a program whose
	// standard input and output are the connection, such as a session manager's) and Become (words
	// that go before the remote program, such as sudo -n) are those of ssh.
	User       string   `yaml:"user"`
	Port       int      `yaml:"port"`
	Key        string   `yaml:"key"`
	KnownHosts string   `yaml:"knownHosts"`
	Jump       string   `yaml:"jump"`
	Proxy      []string `yaml:"proxy"`
	Become     []string `yaml:"become"`
	// Forced is set when the account on the node is bound to 'observer-patch file-agent' by a
	// forced command: the request then goes over standard input and no command is named.
	Forced bool `yaml:"forced"`

	// Run are a program and its first arguments, which run a further program on the node; no shell
	// is involved. {address}, {id} and {service} are replaced in each argument by the node's. The
	// words of the further program are added as arguments of their own; programs that join their
	// arguments for a remote shell, as ssh does, say {command} where the one quoted word goes.
	Run []string `yaml:"run"`

	// Namespace, Name and Item are the ConfigMap and the key in it; Kubectl is the program and
	// its first arguments, by default kubectl.
	Namespace string   `yaml:"namespace"`
	Name      string   `yaml:"name"`
	Item      string   `yaml:"item"`
	Kubectl   []string `yaml:"kubectl"`
}
