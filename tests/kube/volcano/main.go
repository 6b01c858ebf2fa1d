// Go programs as clients of an API server with Volcano's kinds: informers, leader election, typed and dynamic clients, as
// controllers use them. KUBECONFIG says where, the argument in which namespace. A line for each check: NAME, a tab,
// "ok" or what went wrong; the line "restart" asks for another server, and waits for a line.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/remotecommand"
	watchtools "k8s.io/client-go/tools/watch"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/client-go/util/retry"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	bus "volcano.sh/apis/pkg/apis/bus/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcclient "volcano.sh/apis/pkg/client/clientset/versioned"
	vcinformers "volcano.sh/apis/pkg/client/informers/externalversions"
)

const patience = 60 * time.Second

type bench struct {
	config    *rest.Config
	kube      kubernetes.Interface
	volcano   vcclient.Interface
	dynamic   dynamic.Interface
	namespace string
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(holds bool, format string, args ...any) {
	if !holds {
		panic(fmt.Errorf(format, args...))
	}
}

func podTemplate(command string) corev1.PodTemplateSpec {
	grace := int64(1)
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace,
		Containers: []corev1.Container{{Name: "main", Image: "debian:12", Command: []string{"sh", "-c", command}}}}}
}

func job(name, command string, replicas int32) *batch.Job {
	return &batch.Job{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batch.JobSpec{MinAvailable: replicas, Queue: "default",
			Tasks: []batch.TaskSpec{{Name: "w", Replicas: replicas, Template: podTemplate(command)}}}}
}

// ---- what there is ----

func discovers(ctx context.Context, b *bench) {
	found, err := b.kube.Discovery().ServerPreferredResources()
	must(err)
	n := 0
	for _, list := range found {
		n += len(list.APIResources)
	}
	check(n > 30, "only %d resources", n)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(b.kube.Discovery())), b.kube.Discovery(), nil)
	for short, want := range map[string]string{"vcjob": "batch.volcano.sh/v1alpha1, Resource=jobs", "q": "scheduling.volcano.sh/v1beta1, Resource=queues", "po": "/v1, Resource=pods"} {
		resource, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: short})
		must(err)
		check(resource.String() == want, "%s is %s", short, resource)
	}
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "batch.volcano.sh", Kind: "Job"})
	must(err)
	check(mapping.Scope.Name() == "namespace", "a Job's scope is %s", mapping.Scope.Name())
	document, err := b.kube.Discovery().OpenAPIV3().Paths()
	must(err)
	check(document["apis/batch.volcano.sh/v1alpha1"] != nil, "no OpenAPI for jobs")
}

// ---- informers ----

type seen struct {
	sync.Mutex
	words []string
	more  chan struct{}
}

func (s *seen) add(word string) {
	s.Lock()
	s.words = append(s.words, word)
	s.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

func (s *seen) until(want ...string) {
	end := time.After(patience)
	for {
		s.Lock()
		have := strings.Join(s.words, " ")
		s.Unlock()
		if strings.HasSuffix(have, strings.Join(want, " ")) {
			return
		}
		select {
		case <-s.more:
		case <-end:
			panic(fmt.Errorf("seen: %s; wanted: %v", have, want))
		}
	}
}

func informs(ctx context.Context, b *bench) {
	factory := informers.NewSharedInformerFactoryWithOptions(b.kube, 0, informers.WithNamespace(b.namespace))
	maps := factory.Core().V1().ConfigMaps()
	log := &seen{more: make(chan struct{}, 1)}
	tell := func(what string) func(any) {
		return func(o any) {
			if c, ok := o.(*corev1.ConfigMap); ok && strings.HasPrefix(c.Name, "inform") {
				log.add(what + "-" + c.Name)
			}
		}
	}
	api := b.kube.CoreV1().ConfigMaps(b.namespace)
	_, err := api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "inform-0"}}, metav1.CreateOptions{})
	must(err)
	_, err = maps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: tell("+"), DeleteFunc: tell("x"),
		UpdateFunc: func(_, now any) { tell("~")(now) }})
	must(err)
	factory.Start(ctx.Done())
	check(cache.WaitForCacheSync(ctx.Done(), maps.Informer().HasSynced), "never synced")
	made, err := api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "inform-1"}}, metav1.CreateOptions{})
	must(err)
	made.Data = map[string]string{"a": "b"}
	_, err = api.Update(ctx, made, metav1.UpdateOptions{})
	must(err)
	must(api.Delete(ctx, "inform-0", metav1.DeleteOptions{}))
	must(api.Delete(ctx, "inform-1", metav1.DeleteOptions{}))
	log.until("+-inform-0", "+-inform-1", "~-inform-1", "x-inform-0", "x-inform-1")
	_, err = maps.Lister().ConfigMaps(b.namespace).Get("inform-1")
	check(apierrors.IsNotFound(err), "the lister still has it: %v", err)
}

func informsOfJobs(ctx context.Context, b *bench) {
	factory := vcinformers.NewSharedInformerFactoryWithOptions(b.volcano, 0, vcinformers.WithNamespace(b.namespace))
	jobs := factory.Batch().V1alpha1().Jobs()
	synced := jobs.Informer().HasSynced
	log := &seen{more: make(chan struct{}, 1)}
	_, err := jobs.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, now any) { log.add(string(now.(*batch.Job).Status.State.Phase)) },
		DeleteFunc: func(any) { log.add("gone") }})
	must(err)
	factory.Start(ctx.Done())
	check(cache.WaitForCacheSync(ctx.Done(), synced), "never synced")
	_, err = b.volcano.BatchV1alpha1().Jobs(b.namespace).Create(ctx, job("informed", "true", 2), metav1.CreateOptions{})
	must(err)
	log.until("Completed")
	all, err := jobs.Lister().Jobs(b.namespace).List(labels.Everything())
	must(err)
	check(len(all) == 1 && all[0].Status.Succeeded == 2, "the lister has %d jobs", len(all))
	must(b.volcano.BatchV1alpha1().Jobs(b.namespace).Delete(ctx, "informed", metav1.DeleteOptions{}))
	log.until("gone")
}

// The server is killed and comes back while an informer watches: whoever started this does it, asked by a line, and answers by one. Each
// change is seen once, those of the gap too; one that had listed again would see changes that there were not.
func informsOverRestarts(ctx context.Context, b *bench) {
	factory := informers.NewSharedInformerFactoryWithOptions(b.kube, 0, informers.WithNamespace(b.namespace))
	maps, log := factory.Core().V1().ConfigMaps().Informer(), &seen{more: make(chan struct{}, 1)}
	tell := func(what string) func(any) {
		return func(o any) { log.add(what + o.(*corev1.ConfigMap).Data["restarts"]) }
	}
	_, err := maps.AddEventHandler(cache.FilteringResourceEventHandler{
		FilterFunc: func(o any) bool { return o.(*corev1.ConfigMap).Name == "over-restarts" },
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: tell("+"), DeleteFunc: tell("x"),
			UpdateFunc: func(_, now any) { tell("~")(now) }}})
	must(err)
	factory.Start(ctx.Done())
	check(cache.WaitForCacheSync(ctx.Done(), maps.HasSynced), "never synced")
	api, answers := b.kube.CoreV1().ConfigMaps(b.namespace), bufio.NewScanner(os.Stdin)
	now, err := api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "over-restarts"}}, metav1.CreateOptions{})
	must(err)
	log.until("+")
	for _, n := range []string{"1", "2"} {
		fmt.Println("restart")
		check(answers.Scan(), "nobody has restarted the server")
		now.Data = map[string]string{"restarts": n}
		now, err = api.Update(ctx, now, metav1.UpdateOptions{})
		must(err)
	}
	must(api.Delete(ctx, now.Name, metav1.DeleteOptions{}))
	log.until("+", "~1", "~2", "x2")
	check(len(log.words) == 4, "seen: %v", log.words)
}

// ---- writes ----

func speaksProtobuf(ctx context.Context, b *bench) {
	config := rest.CopyConfig(b.config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	must(err)
	secrets := client.CoreV1().Secrets(b.namespace)
	_, err = secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bytes", Labels: map[string]string{"x": "y"}}, Data: map[string][]byte{"k": {0, 1, 255}}}, metav1.CreateOptions{})
	must(err)
	back, err := secrets.Get(ctx, "bytes", metav1.GetOptions{})
	must(err)
	check(bytes.Equal(back.Data["k"], []byte{0, 1, 255}) && back.Labels["x"] == "y" && back.UID != "", "got %v", back)
	w, err := secrets.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=bytes"})
	must(err)
	event := <-w.ResultChan()
	check(event.Type == watch.Added && event.Object.(*corev1.Secret).Name == "bytes", "watched %v", event)
	w.Stop()
	must(secrets.Delete(ctx, "bytes", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(back.UID))}))
	_, err = secrets.Get(ctx, "bytes", metav1.GetOptions{})
	check(apierrors.IsNotFound(err), "still there: %v", err)
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	must(err)
	check(len(nodes.Items) == 1 && nodes.Items[0].Status.Allocatable.Cpu().Value() > 0, "nodes: %v", nodes)
}

func retriesConflicts(ctx context.Context, b *bench) {
	const writers, times = 8, 10
	api := b.kube.CoreV1().ConfigMaps(b.namespace)
	_, err := api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counter"}, Data: map[string]string{"n": "0"}}, metav1.CreateOptions{})
	must(err)
	backoff := retry.DefaultBackoff
	backoff.Steps = 1000
	failed := make(chan error, writers)
	for range writers {
		go func() {
			failed <- func() error {
				for range times {
					if err := retry.RetryOnConflict(backoff, func() error {
						c, err := api.Get(ctx, "counter", metav1.GetOptions{})
						if err != nil {
							return err
						}
						n, _ := strconv.Atoi(c.Data["n"])
						c.Data["n"] = strconv.Itoa(n + 1)
						_, err = api.Update(ctx, c, metav1.UpdateOptions{})
						return err
					}); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	for range writers {
		must(<-failed)
	}
	c, err := api.Get(ctx, "counter", metav1.GetOptions{})
	must(err)
	check(c.Data["n"] == strconv.Itoa(writers*times), "counted to %s", c.Data["n"])
	must(api.Delete(ctx, "counter", metav1.DeleteOptions{}))
}

func appliesTyped(ctx context.Context, b *bench) {
	api := b.kube.CoreV1().ConfigMaps(b.namespace)
	mine := metav1.ApplyOptions{FieldManager: "mine"}
	_, err := api.Apply(ctx, applycore.ConfigMap("applied", b.namespace).WithData(map[string]string{"a": "1"}), mine)
	must(err)
	other := applycore.ConfigMap("applied", b.namespace).WithData(map[string]string{"a": "2"})
	_, err = api.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "other"})
	check(apierrors.IsConflict(err), "no conflict: %v", err)
	got, err := api.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "other", Force: true})
	must(err)
	check(got.Data["a"] == "2", "got %v", got.Data)
	own, err := applycore.ExtractConfigMap(got, "other")
	must(err)
	check(own.Data["a"] == "2", "other owns %v", own.Data)
	must(api.Delete(ctx, "applied", metav1.DeleteOptions{}))
}

func pages(ctx context.Context, b *bench) {
	api := b.kube.CoreV1().ConfigMaps(b.namespace)
	for i := range 25 {
		_, err := api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("page-%02d", i), Labels: map[string]string{"page": "yes"}}}, metav1.CreateOptions{})
		must(err)
	}
	p := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return api.List(ctx, o) })
	p.PageSize = 10
	n := 0
	must(p.EachListItem(ctx, metav1.ListOptions{LabelSelector: "page=yes"}, func(runtime.Object) error { n++; return nil }))
	check(n == 25, "%d items", n)
	must(api.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "page=yes"}))
	left, err := api.List(ctx, metav1.ListOptions{LabelSelector: "page=yes"})
	must(err)
	check(len(left.Items) == 0, "%d left", len(left.Items))
}

func electsLeaders(ctx context.Context, b *bench) {
	led := make(chan string, 2)
	run := func(ctx context.Context, name string, done *sync.WaitGroup) {
		defer done.Done()
		lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: "leader", Namespace: b.namespace}, Client: b.kube.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name}}
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second,
			RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { led <- name }, OnStoppedLeading: func() {}}})
	}
	var done sync.WaitGroup
	done.Add(2)
	first, resign := context.WithCancel(ctx)
	second, end := context.WithCancel(ctx)
	go run(first, "first", &done)
	check(<-led == "first", "somebody else leads")
	go run(second, "second", &done)
	resign()
	check(<-led == "second", "the second does not take over")
	lease, err := b.kube.CoordinationV1().Leases(b.namespace).Get(ctx, "leader", metav1.GetOptions{})
	must(err)
	check(*lease.Spec.HolderIdentity == "second" && *lease.Spec.LeaseTransitions >= 1, "the lease says %v", lease.Spec)
	end()
	done.Wait()
}

func recordsEvents(ctx context.Context, b *bench) {
	about, err := b.kube.CoreV1().ConfigMaps(b.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "subject"}}, metav1.CreateOptions{})
	must(err)
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: b.kube.CoreV1().Events(b.namespace)})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "test"})
	for range 3 { // the same again is counted, by a patch
		recorder.Event(about, corev1.EventTypeNormal, "Tested", "again")
	}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, "1", &cache.ListWatch{WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) {
		o.ResourceVersion = ""
		o.FieldSelector = "involvedObject.name=subject,reason=Tested"
		return b.kube.CoreV1().Events(b.namespace).Watch(ctx, o)
	}})
	must(err)
	for event := range w.ResultChan() {
		if e, ok := event.Object.(*corev1.Event); ok && e.Count == 3 {
			break
		}
		check(event.Type != watch.Error, "watch: %v", event.Object)
	}
	w.Stop()
	broadcaster.Shutdown()
	must(b.kube.CoreV1().ConfigMaps(b.namespace).Delete(ctx, "subject", metav1.DeleteOptions{}))
}

// ---- Volcano's kinds, typed ----

func untilPhase(ctx context.Context, b *bench, name string, phase batch.JobPhase) *batch.Job {
	w, err := b.volcano.BatchV1alpha1().Jobs(b.namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	must(err)
	defer w.Stop()
	for event := range w.ResultChan() {
		if j, ok := event.Object.(*batch.Job); ok && j.Status.State.Phase == phase {
			return j
		}
	}
	panic(fmt.Errorf("%s never was %s", name, phase))
}

func runsJobs(ctx context.Context, b *bench) {
	jobs := b.volcano.BatchV1alpha1().Jobs(b.namespace)
	made, err := jobs.Create(ctx, job("typed", "sleep 1000", 2), metav1.CreateOptions{})
	must(err)
	check(made.Spec.MaxRetry == 3 && made.Spec.SchedulerName == "volcano", "it was not completed: %v", made.Spec)
	_, err = jobs.Create(ctx, job("typed", "true", 1), metav1.CreateOptions{})
	check(apierrors.IsAlreadyExists(err), "made twice: %v", err)
	bad := job("bad", "true", 1)
	bad.Spec.MinAvailable = 5
	_, err = jobs.Create(ctx, bad, metav1.CreateOptions{})
	check(apierrors.IsInvalid(err), "a bad one was taken: %v", err)
	running := untilPhase(ctx, b, "typed", batch.Running)
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now, err := jobs.Get(ctx, "typed", metav1.GetOptions{})
		if err != nil {
			return err
		}
		now.Spec.MaxRetry = 99 // not by this door
		now.Status.Conditions = append(now.Status.Conditions, batch.JobCondition{Status: batch.Restarting})
		running, err = jobs.UpdateStatus(ctx, now, metav1.UpdateOptions{})
		return err
	})
	must(err)
	check(running.Spec.MaxRetry == 3, "a status changed the spec")
	groups, err := b.volcano.SchedulingV1beta1().PodGroups(b.namespace).List(ctx, metav1.ListOptions{})
	must(err)
	check(len(groups.Items) == 1 && groups.Items[0].Spec.MinMember == 2, "groups: %v", groups.Items)
	command := &bus.Command{ObjectMeta: metav1.ObjectMeta{Name: "stop-typed"}, Action: "AbortJob",
		TargetObject: metav1.NewControllerRef(running, batch.SchemeGroupVersion.WithKind("Job"))}
	_, err = b.volcano.BusV1alpha1().Commands(b.namespace).Create(ctx, command, metav1.CreateOptions{})
	must(err)
	untilPhase(ctx, b, "typed", batch.Aborted)
	foreground := metav1.DeletePropagationForeground
	must(jobs.Delete(ctx, "typed", metav1.DeleteOptions{PropagationPolicy: &foreground}))
	w, err := jobs.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=typed"})
	must(err)
	defer w.Stop()
	for {
		if _, err := jobs.Get(ctx, "typed", metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return
		}
		select {
		case <-w.ResultChan():
		case <-ctx.Done():
			panic(errors.New("it never went"))
		}
	}
}

func hasQueues(ctx context.Context, b *bench) {
	queues := b.volcano.SchedulingV1beta1().Queues()
	name := "q-" + b.namespace
	_, err := queues.Create(ctx, &scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: scheduling.QueueSpec{Weight: 3}}, metav1.CreateOptions{})
	must(err)
	must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		q, err := queues.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		q.Spec.Weight = 5
		_, err = queues.Update(ctx, q, metav1.UpdateOptions{})
		return err
	}))
	q, err := queues.Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"capability":{"cpu":"2"}}}`), metav1.PatchOptions{})
	must(err)
	check(q.Spec.Weight == 5 && q.Spec.Capability.Cpu().Value() == 2, "got %v", q.Spec)
	group, err := b.volcano.SchedulingV1beta1().PodGroups(b.namespace).Create(ctx, &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "alone"},
		Spec: scheduling.PodGroupSpec{MinMember: 1, Queue: name}}, metav1.CreateOptions{})
	must(err)
	check(group.Spec.Queue == name, "got %v", group.Spec)
	must(b.volcano.SchedulingV1beta1().PodGroups(b.namespace).Delete(ctx, "alone", metav1.DeleteOptions{}))
	must(queues.Delete(ctx, name, metav1.DeleteOptions{}))
}

func worksDynamically(ctx context.Context, b *bench) {
	jobs := b.dynamic.Resource(schema.GroupVersionResource{Group: "batch.volcano.sh", Version: "v1alpha1", Resource: "jobs"}).Namespace(b.namespace)
	made := map[string]any{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": map[string]any{"name": "loose"},
		"spec": map[string]any{"minAvailable": int64(1), "tasks": []any{map[string]any{"name": "w", "replicas": int64(1), "template": map[string]any{
			"spec": map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{"name": "main", "image": "debian:12", "command": []any{"true"}}}}}}}}}
	_, err := jobs.Apply(ctx, "loose", &unstructured.Unstructured{Object: made}, metav1.ApplyOptions{FieldManager: "loose"})
	must(err)
	w, err := watchtools.Until(ctx, "1", &cache.ListWatch{WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) {
		o.ResourceVersion = ""
		return jobs.Watch(ctx, o)
	}}, func(e watch.Event) (bool, error) {
		phase, _, _ := unstructured.NestedString(e.Object.(*unstructured.Unstructured).Object, "status", "state", "phase")
		return phase == "Completed", nil
	})
	must(err)
	check(w != nil, "no event")
	must(jobs.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
}

// ---- pods ----

func runsCommands(ctx context.Context, b *bench) {
	pods := b.kube.CoreV1().Pods(b.namespace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shell"}, Spec: podTemplate("echo begun; exec sleep 1000").Spec}
	_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	must(err)
	_, err = watchtools.UntilWithSync(ctx, cache.NewListWatchFromClient(b.kube.CoreV1().RESTClient(), "pods", b.namespace, fields.Everything()), &corev1.Pod{}, nil,
		func(e watch.Event) (bool, error) {
			p := e.Object.(*corev1.Pod)
			return p.Name == "shell" && p.Status.Phase == corev1.PodRunning, nil
		})
	must(err)
	request := b.kube.CoreV1().RESTClient().Post().Resource("pods").Namespace(b.namespace).Name("shell").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: "main", Command: []string{"sh", "-c", "cat; echo to stderr >&2; exit 5"}, Stdin: true, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	for name, executor := range map[string]func() (remotecommand.Executor, error){
		"WebSocket": func() (remotecommand.Executor, error) {
			return remotecommand.NewWebSocketExecutor(b.config, "GET", request.URL().String())
		},
		"SPDY": func() (remotecommand.Executor, error) {
			return remotecommand.NewSPDYExecutor(b.config, "POST", request.URL())
		},
	} {
		run, err := executor()
		must(err)
		var out, errs bytes.Buffer
		err = run.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: strings.NewReader("through"), Stdout: &out, Stderr: &errs})
		var status utilexec.CodeExitError
		check(errors.As(err, &status) && status.Code == 5, "%s: %v", name, err)
		check(out.String() == "through" && errs.String() == "to stderr\n", "%s: %q, %q", name, out.String(), errs.String())
	}
	stream, err := pods.GetLogs("shell", &corev1.PodLogOptions{}).Stream(ctx)
	must(err)
	text, err := io.ReadAll(stream)
	must(err)
	check(string(text) == "begun\n", "the log is %q", text)
	now := int64(0)
	must(pods.Delete(ctx, "shell", metav1.DeleteOptions{GracePeriodSeconds: &now}))
}

// ---- all of it ----

var checks = []struct {
	name string
	f    func(context.Context, *bench)
}{
	{"discovers", discovers}, {"informs", informs}, {"informsOfJobs", informsOfJobs}, {"informsOverRestarts", informsOverRestarts}, {"speaksProtobuf", speaksProtobuf},
	{"retriesConflicts", retriesConflicts}, {"appliesTyped", appliesTyped}, {"pages", pages}, {"electsLeaders", electsLeaders},
	{"recordsEvents", recordsEvents}, {"runsJobs", runsJobs}, {"hasQueues", hasQueues}, {"worksDynamically", worksDynamically},
	{"runsCommands", runsCommands},
}

func try(b *bench, f func(context.Context, *bench)) (result string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer func() {
		if e := recover(); e != nil {
			result = strings.ReplaceAll(fmt.Sprint(e), "\n", " ")
		}
	}()
	f(ctx, b)
	return "ok"
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must(err)
	config.QPS, config.Burst = 1000, 1000
	b := &bench{config: config, kube: kubernetes.NewForConfigOrDie(config), volcano: vcclient.NewForConfigOrDie(config),
		dynamic: dynamic.NewForConfigOrDie(config), namespace: os.Args[1]}
	for _, c := range checks {
		if len(os.Args) == 2 || os.Args[2] == c.name {
			fmt.Printf("%s\t%s\n", c.name, try(b, c.f))
		}
	}
}
