package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/owner"
)

// Root is where pinned objects are kept; bpffs must be mounted at its parent.
const Root = owner.Pins

// Options say how a data plane is held.
type Options struct {
	// Name is the vRouter's; its pinned objects are in a folder of this name under Root.
	Name string
	// Pin keeps programs and tables when the process ends; without it, they end with the process.
	Pin bool
	// Clsact uses the older way to attach, even where the kernel has tcx.
	Clsact bool
	// Flows is how many flows there is room for; 0 is config.DefaultFlows.
	Flows uint32
	// Blocks is the size of the route tables; 0 is the size for config.DefaultRoutes.
	Blocks uint32
	// Hosts is the size of the hosts' table, a power of two; 0 is the size for config.DefaultRoutes.
	Hosts uint32
}

// Dataplane is the loaded programs and their tables. Its methods must not be called concurrently.
type Dataplane struct {
	options Options
	objects vrObjects
	tables  [config.TableCount][]byte
	flows   *config.Flows
	memory  [][]byte           // the mappings of maps
	links   heldLinks          // where tcx is used
	xdp     heldLinks          // where XDP receives tunnels or is the fast path
	fast    fastPath           // where some interface takes it
	devices inDevices          // that run the fast path themselves
	rules   filterRules        // that devices forward by in the programs' place
	fabric  uint32             // its interface, once it is attached
	hands   bool               // tunnels are received by XDP, before GRO
	filters map[uint32]string  // by interface index, the program's name, where clsact is
	tracers map[string]*tracer // by program, those that were used
	socket  *vxlanSocket       // where GRO looks into VXLAN by one of our own
	lock    *os.File
	mark    owner.Mark // says whose the programs are
	nodes   ebpf.MapID // the kernel's number of the node's table
	barrier barrier
	tcx     bool
}

// Load puts the programs into the kernel, with the tables of a vRouter of the same name if such are
// pinned, or else new ones.
func Load(options Options) (*Dataplane, error) {
	d := &Dataplane{options: options, devices: inDevices{at: driverXDP{}}, filters: make(map[uint32]string), tracers: make(map[string]*tracer)}
	d.rules = filterRules{table: kernelFlower{}, cookie: cookieOf(options.Name)}
	d.links, d.xdp = holdLinks(hookTCX, d.pins()), holdLinks(hookXDP, d.pins())
	d.tcx = !options.Clsact && HaveTCX()
	if err := d.load(); err != nil {
		d.release()
		return nil, err
	}
	return d, nil
}

func (d *Dataplane) load() error {
	// Kernels before 5.11 count BPF memory against this limit.
	if err := rlimit.RemoveMemlock(); err != nil {
		return fmt.Errorf("lifting the memory lock limit: %w; root is needed", err)
	}
	spec, err := loadVr()
	if err != nil {
		return fmt.Errorf("reading the BPF programs: %w", err)
	}
	if d.options.Blocks != 0 {
		spec.Maps[vrMapVrBlocks].MaxEntries = d.options.Blocks
	}
	if d.options.Hosts != 0 {
		spec.Maps[vrMapVrHostBuckets].MaxEntries = d.options.Hosts
	}
	if d.options.Flows != 0 {
		spec.Maps[vrMapVrFlows].MaxEntries = config.FlowPages(d.options.Flows)
	}
	options := &ebpf.CollectionOptions{}
	if d.options.Pin {
		if err := d.makeFolder(); err != nil {
			return err
		}
		options.Maps.PinPath = d.folder()
		for _, m := range spec.Maps {
			m.Pinning = ebpf.PinByName
		}
	}
	// Not all programs: fabricXDP loads the third.
	tc := struct {
		*vrMaps
		Vif    *ebpf.Program `ebpf:"vr_vif_ingress"`
		Fabric *ebpf.Program `ebpf:"vr_fabric_ingress"`
	}{vrMaps: &d.objects.vrMaps}
	err = spec.LoadAndAssign(&tc, options)
	d.objects.VrVifIngress, d.objects.VrFabricIngress = tc.Vif, tc.Fabric
	if errors.Is(err, ebpf.ErrMapIncompatible) {
		return fmt.Errorf("adopting the tables in %s: %w; they are another version's, or were made for other limits: `vrouter delete --name %s` removes them", d.folder(), err, d.options.Name)
	}
	if err != nil {
		return fmt.Errorf("loading the BPF programs: %w", err)
	}
	if d.barrier, err = newBarrier(); err != nil {
		return err
	}
	if err = d.mapTables(); err != nil {
		return err
	}
	return errors.Join(d.own(), d.rules.sweep())
}

func (d *Dataplane) folder() string { return filepath.Join(Root, d.options.Name) }

// pins is the folder where links are kept, "" if they are not.
func (d *Dataplane) pins() string {
	if !d.options.Pin {
		return ""
	}
	return d.folder()
}

// makeFolder makes the place for pins, and takes the lock that keeps a second vRouter of the same
// name away.
func (d *Dataplane) makeFolder() error {
	var at unix.Statfs_t
	parent := filepath.Dir(Root)
	if err := unix.Statfs(parent, &at); err != nil || at.Type != unix.BPF_FS_MAGIC {
		return fmt.Errorf("%s is no BPF file system, so nothing can be kept; `mount -t bpf bpf %s`, or use --lease", parent, parent)
	}
	if err := os.MkdirAll(d.folder(), 0o700); err != nil {
		return fmt.Errorf("making %s: %w", d.folder(), err)
	}
	var err error
	if d.lock, err = lock(d.folder()); err != nil {
		return err
	}
	return refuseElsewhere(d.folder())
}

func lock(folder string) (*os.File, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", folder, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w; a vRouter of this name is running: end it first", folder, err)
	}
	return f, nil
}

// tableMaps are the maps behind the tables.
func (d *Dataplane) tableMaps() [config.TableCount]*ebpf.Map {
	return [config.TableCount]*ebpf.Map{
		config.TableNode: d.objects.VrNodes, config.TableVifs: d.objects.VrVifs, config.TableVRFs: d.objects.VrVrfs,
		config.TableNexthops: d.objects.VrNhs, config.TableGroups: d.objects.VrGroups, config.TableLabels: d.objects.VrLabels,
		config.TableVNIs: d.objects.VrVnis, config.TableBlocks: d.objects.VrBlocks,
		config.TablePolicies: d.objects.VrPolicies,
		config.TableMACs:     d.objects.VrMacs, config.TableFloods: d.objects.VrFloods, config.TableHosts: d.objects.VrHostBuckets,
	}
}

// mapped is the memory of a map of such records.
func (d *Dataplane) mapped(m *ebpf.Map, record int) ([]byte, error) {
	size, page := int(m.MaxEntries())*record, os.Getpagesize()
	memory, err := unix.Mmap(m.FD(), 0, (size+page-1)/page*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the table %s: %w", m, err)
	}
	d.memory = append(d.memory, memory)
	return memory, nil
}

func (d *Dataplane) mapTables() error {
	var err error
	for table, m := range d.tableMaps() {
		if d.tables[table], err = d.mapped(m, config.RecordSize[table]); err != nil {
			return err
		}
	}
	if version := config.ReadNode(d.tables[config.TableNode]).Version; version != 0 && version != core.Layout {
		return fmt.Errorf("adopting the tables in %s: their layout is %d, not %d; `vrouter delete --name %s` removes them", d.folder(), version, core.Layout, d.options.Name)
	}
	return d.openFlows()
}

// Image reads the tables.
func (d *Dataplane) Image() config.Image { return config.Read(d.tables) }

// Hosts is the hosts' table.
func (d *Dataplane) Hosts() config.Hosts { return d.tables[config.TableHosts] }

// SetPort lets packets from an interface be those of a vif.
func (d *Dataplane) SetPort(ifindex, vif uint32) error {
	if err := d.objects.VrPorts.Put(ifindex, vif); err != nil {
		return fmt.Errorf("naming the vif of interface %d: %w", ifindex, err)
	}
	return d.hintPort(ifindex, vif)
}

// hintPort tells the fast path, which asks the table only where the hint is another interface's.
func (d *Dataplane) hintPort(ifindex, vif uint32) error {
	if err := d.objects.VrPortHints.Put(ifindex%core.MaxVifs, vif); err != nil {
		return fmt.Errorf("hinting at the vif of interface %d: %w", ifindex, err)
	}
	return nil
}

// ClearPort is the reverse of SetPort; the interface may be gone.
func (d *Dataplane) ClearPort(ifindex uint32) error {
	if err := d.objects.VrPorts.Delete(ifindex); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("forgetting the vif of interface %d: %w", ifindex, err)
	}
	return d.hintPort(ifindex, 0)
}

// Ports lists the interfaces that have a vif.
func (d *Dataplane) Ports() (map[uint32]uint32, error) {
	ports := make(map[uint32]uint32)
	var ifindex, vif uint32
	entries := d.objects.VrPorts.Iterate()
	for entries.Next(&ifindex, &vif) {
		ports[ifindex] = vif
	}
	return ports, entries.Err()
}

// Totals are all packets' account, over all CPUs.
func (d *Dataplane) Totals() (core.Totals, error) {
	var perCPU []core.Totals
	if err := d.objects.VrTotal.Lookup(uint32(0), &perCPU); err != nil {
		return core.Totals{}, fmt.Errorf("reading the counters: %w", err)
	}
	var sum core.Totals
	for _, t := range perCPU {
		sum.Add(t)
	}
	sum.Add(d.rules.account.Totals())
	return sum, nil
}

// VifCount is one vif's account, over all CPUs.
func (d *Dataplane) VifCount(vif uint32) (core.VifCount, error) {
	var perCPU []core.VifCount
	if err := d.objects.VrVifCounts.Lookup(vif, &perCPU); err != nil {
		return core.VifCount{}, fmt.Errorf("reading the counters of vif %d: %w", vif, err)
	}
	var sum core.VifCount
	for _, c := range perCPU {
		sum.Add(c)
	}
	sum.Add(d.rules.account.Vif(vif))
	return sum, nil
}

// VifDrops are one vif's losses.
func (d *Dataplane) VifDrops(vif uint32) (drops core.VifDrops, err error) {
	if err := d.objects.VrVifLosses.Lookup(vif, &drops); err != nil {
		return drops, fmt.Errorf("reading the losses of vif %d: %w", vif, err)
	}
	drops.Add(d.rules.account.Drops(vif))
	return drops, nil
}

// ClearVifCount starts a vif's account anew, for a slot that another port had.
func (d *Dataplane) ClearVifCount(vif uint32) error {
	cpus, err := ebpf.PossibleCPU()
	if err == nil {
		err = d.objects.VrVifCounts.Put(vif, make([]core.VifCount, cpus))
	}
	if err == nil {
		err = d.objects.VrVifLosses.Put(vif, core.VifDrops{})
	}
	if err == nil && d.fast.objects.VrFastCounts != nil {
		err = d.fast.objects.VrFastCounts.Put(vif, make([]fastVrFastCount, cpus))
	}
	if err != nil {
		return fmt.Errorf("clearing the counters of vif %d: %w", vif, err)
	}
	d.rules.account.Forget(vif)
	return nil
}

// Close ends the process's hold. What is pinned stays and goes on forwarding; what is not is gone.
func (d *Dataplane) Close() error {
	failed := []error{d.rules.close(), d.devices.close(), d.xdp.close()} // before tc, which understands what XDP hands over
	if !d.options.Pin {
		for ifindex := range d.filters {
			failed = append(failed, d.Detach(ifindex))
		}
	}
	failed = append(failed, d.links.close())
	if d.options.Pin && d.tables[config.TableNode] != nil && config.ReadNode(d.tables[config.TableNode]).Version == 0 { // nothing was ever in force
		if err := os.RemoveAll(d.folder()); err != nil {
			failed = append(failed, fmt.Errorf("removing %s: %w", d.folder(), err))
		}
	}
	d.release()
	return errors.Join(failed...)
}

func (d *Dataplane) release() {
	for _, t := range d.tracers {
		t.close()
	}
	for _, memory := range d.memory {
		unix.Munmap(memory)
	}
	d.tables, d.flows, d.memory = [config.TableCount][]byte{}, nil, nil
	d.objects.Close()
	d.fast.objects.Close()
	d.mark.Close()
	d.barrier.close()
	if d.socket != nil {
		d.socket.close()
	}
	if d.lock != nil {
		d.lock.Close()
	}
}
