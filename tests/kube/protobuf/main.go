// Objects of the built-in kinds with random values in random fields, as JSON and as protobuf, the way Kubernetes' own
// libraries write them: one line of JSON for each. Arguments: seed, how many of each kind.
//
// Lines on the input are {"proto": base64}; they are answered with the JSON that the libraries read from it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"strconv"
	"time"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var special = map[reflect.Type]func(r *rand.Rand) any{
	reflect.TypeOf(meta.Time{}):      func(r *rand.Rand) any { return meta.Unix(r.Int63n(4e9)-1e9, 0) },
	reflect.TypeOf(meta.MicroTime{}): func(r *rand.Rand) any { return meta.NewMicroTime(time.UnixMicro(r.Int63n(4e15))) },
	reflect.TypeOf(meta.Duration{}):  func(r *rand.Rand) any { return meta.Duration{Duration: time.Duration(r.Int63n(1e13))} },
	reflect.TypeOf(resource.Quantity{}): func(r *rand.Rand) any {
		return resource.MustParse([]string{"0", "1", "100m", "2Gi", "1500", "5k"}[r.Intn(6)])
	},
	reflect.TypeOf(intstr.IntOrString{}): func(r *rand.Rand) any {
		if r.Intn(2) == 0 {
			return intstr.FromInt32(r.Int31n(70000))
		}
		return intstr.FromString(text(r))
	},
	reflect.TypeOf(meta.FieldsV1{}):        func(r *rand.Rand) any { return meta.FieldsV1{Raw: []byte(`{"f:a":{}}`)} },
	reflect.TypeOf(runtime.RawExtension{}): func(r *rand.Rand) any { return runtime.RawExtension{} },
	reflect.TypeOf(meta.TypeMeta{}):        func(r *rand.Rand) any { return meta.TypeMeta{} },
	reflect.TypeOf([]byte{}):               func(r *rand.Rand) any { return []byte(text(r)) },
}

func text(r *rand.Rand) string {
	return []string{"", "a", "b-c", "Grüße", "x\"y\\z\n", "0123456789012345678901234567890123456789"}[r.Intn(6)]
}

func fill(r *rand.Rand, v reflect.Value, depth int) {
	if make, ok := special[v.Type()]; ok {
		v.Set(reflect.ValueOf(make(r)))
		return
	}
	some := depth < 9 && r.Intn(3) > 0
	switch v.Kind() {
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			fill(r, v.Field(i), depth+1)
		}
	case reflect.Pointer:
		if some {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Slice:
		for n := r.Intn(3); some && n > 0; n-- {
			item := reflect.New(v.Type().Elem()).Elem()
			fill(r, item, depth+1)
			v.Set(reflect.Append(v, item))
		}
	case reflect.Map:
		if some {
			v.Set(reflect.MakeMap(v.Type()))
			for _, key := range []string{"b", "a", "long/key"}[:1+r.Intn(3)] {
				item := reflect.New(v.Type().Elem()).Elem()
				fill(r, item, depth+1)
				v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), item)
			}
		}
	case reflect.String:
		if some {
			v.SetString(text(r))
		}
	case reflect.Int32:
		v.SetInt(int64([]int32{0, 1, 127, 128, -1, 1 << 30}[r.Intn(6)]))
	case reflect.Int64, reflect.Int:
		v.SetInt([]int64{0, 1, 300, -1, 1 << 60}[r.Intn(5)])
	case reflect.Bool:
		v.SetBool(some)
	}
}

var kinds = []struct {
	version string
	objects []runtime.Object
}{
	{"v1", []runtime.Object{&core.Pod{}, &core.Service{}, &core.ConfigMap{}, &core.Secret{}, &core.Namespace{}, &core.Node{},
		&core.Event{}, &core.PersistentVolume{}, &core.PersistentVolumeClaim{}, &core.ServiceAccount{}, &core.ResourceQuota{},
		&core.Endpoints{}, &core.Binding{}, &core.LimitRange{}, &core.PodTemplate{}, &core.PodList{}, &core.SecretList{},
		&meta.DeleteOptions{}, &meta.ListOptions{}, &meta.PatchOptions{}, &meta.CreateOptions{}, &meta.UpdateOptions{}, &meta.Status{}}},
	{"coordination.k8s.io/v1", []runtime.Object{&coordination.Lease{}}},
	{"networking.k8s.io/v1", []runtime.Object{&networking.NetworkPolicy{}}},
	{"policy/v1", []runtime.Object{&policy.PodDisruptionBudget{}, &policy.Eviction{}}},
	{"scheduling.k8s.io/v1", []runtime.Object{&scheduling.PriorityClass{}}},
	{"discovery.k8s.io/v1", []runtime.Object{&discovery.EndpointSlice{}}},
	{"events.k8s.io/v1", []runtime.Object{&events.Event{}}},
	{"rbac.authorization.k8s.io/v1", []runtime.Object{&rbac.Role{}, &rbac.RoleBinding{}, &rbac.ClusterRole{}, &rbac.ClusterRoleBinding{}}},
	{"authentication.k8s.io/v1", []runtime.Object{&authentication.TokenRequest{}, &authentication.TokenReview{}, &authentication.SelfSubjectReview{}}},
	{"authorization.k8s.io/v1", []runtime.Object{&authorization.SubjectAccessReview{}, &authorization.LocalSubjectAccessReview{},
		&authorization.SelfSubjectAccessReview{}, &authorization.SelfSubjectRulesReview{}}},
	{"storage.k8s.io/v1", []runtime.Object{&storage.StorageClass{}, &storage.CSINode{}}},
	{"autoscaling/v1", []runtime.Object{&autoscaling.Scale{}}},
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	seed, err := strconv.ParseInt(os.Args[1], 10, 64)
	fail(err)
	count, err := strconv.Atoi(os.Args[2])
	fail(err)
	scheme, r := runtime.NewScheme(), rand.New(rand.NewSource(seed))
	for _, row := range kinds {
		version, err := schema.ParseGroupVersion(row.version)
		fail(err)
		for _, object := range row.objects {
			scheme.AddKnownTypeWithName(version.WithKind(reflect.TypeOf(object).Elem().Name()), object)
		}
	}
	codec, out := protobuf.NewSerializer(scheme, scheme), json.NewEncoder(os.Stdout)
	for _, row := range kinds {
		for _, object := range row.objects {
			for i := 0; i < count; i++ {
				object := reflect.New(reflect.TypeOf(object).Elem())
				fill(r, object.Elem(), 0)
				o := object.Interface().(runtime.Object)
				o.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(row.version, object.Elem().Type().Name()))
				proto, err := runtime.Encode(codec, o)
				fail(err)
				fail(out.Encode(map[string]any{"json": o, "proto": proto}))
			}
		}
	}
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var in struct{ Proto []byte }
		fail(json.Unmarshal(line, &in))
		o, _, err := codec.Decode(in.Proto, nil, nil)
		fail(err)
		fail(out.Encode(map[string]any{"json": o}))
	}
}
