#!/usr/bin/env python3
"""`pumice server`: who is behind Services, the Service of the server itself, and what programs in pods get of it."""
import contextlib
import json
import os
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "kube")]

from harness import Suite  # noqa: E402
from server import PODS, Kubectl, config_map, kubectls, pod, server_or_skip, until  # noqa: E402
from server_checklist import MERGE, NAMESPACES  # noqa: E402

CORE = "/api/v1/namespaces/default"
SERVICES, ENDPOINTS = f"{CORE}/services", f"{CORE}/endpoints"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


def service(name, **spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "labels": {"of": name}},
            "spec": {"selector": {"app": name}, "ports": [{"name": "web", "port": 80, "targetPort": "http"}], **spec}}


def slices(s, name, at=SLICES):
    return s.ok("GET", f"{at}?labelSelector=kubernetes.io%2Fservice-name%3D{name}")["items"]


def addresses(s, name, which="addresses"):
    """Of Endpoints: "10.88.0.2:8000", …"""
    status, found = s.call("GET", f"{ENDPOINTS}/{name}")
    return sorted(f"{a['ip']}:{p['port']}" for subset in found.get("subsets", []) for a in subset.get(which, []) for p in subset["ports"]) if status == 200 else None


def web(name, app, ready=True, port=8000):
    """It is ready when there is a file, which is made at once or by exec."""
    p = pod(name, ("touch /tmp/ready; " if ready else "") + "exec sleep 1000", labels={"app": app})
    main = p["spec"]["containers"][0]
    main["ports"] = [{"name": "http", "containerPort": port}]
    main["readinessProbe"] = {"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1}
    return p


def follows_pods(s):
    s.ok("POST", SERVICES, service("front"))
    until("a Service without pods has nobody", lambda: addresses(s, "front") == [])
    s.ok("POST", PODS, web("front-a", "front"))
    s.ok("POST", PODS, web("front-b", "front", ready=False, port=9000))
    ip = {n: until("an address", lambda n=n: s.ok("GET", f"{PODS}/{n}")["status"].get("podIP")) for n in ("front-a", "front-b")}
    until("one is ready, one is not", lambda: (addresses(s, "front"), addresses(s, "front", "notReadyAddresses")) == ([f"{ip['front-a']}:8000"], [f"{ip['front-b']}:9000"]))
    found = s.ok("GET", f"{ENDPOINTS}/front")
    assert found["metadata"]["labels"] == {"of": "front", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}, found
    one = next(a for x in found["subsets"] for a in x.get("addresses", []))
    node = s.ok("GET", f"{PODS}/front-a")["spec"]["nodeName"]
    assert one["targetRef"]["name"] == "front-a" and one["nodeName"] == node, one
    parts = until("both are in slices, each with its port", lambda: len(x := slices(s, "front")) == 2 and x)
    owner = parts[0]["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"], owner["blockOwnerDeletion"]) == ("Service", "front", True, True), owner
    ends = {e["targetRef"]["name"]: (e["conditions"], p["ports"][0]["port"]) for p in parts for e in p["endpoints"]}
    assert ends == {"front-a": ({"ready": True, "serving": True, "terminating": False}, 8000), "front-b": ({"ready": False, "serving": False, "terminating": False}, 9000)}, ends
    s.ok("PATCH", f"{SERVICES}/front", {"spec": {"publishNotReadyAddresses": True}}, type=MERGE)
    until("all are told", lambda: addresses(s, "front") == sorted([f"{ip['front-a']}:8000", f"{ip['front-b']}:9000"]))
    s.ok("PATCH", f"{SERVICES}/front", {"spec": {"publishNotReadyAddresses": False}}, type=MERGE)
    until("and are not", lambda: addresses(s, "front") == [f"{ip['front-a']}:8000"])
    s.ok("DELETE", f"{ENDPOINTS}/front")
    s.ok("DELETE", f"{SLICES}/{parts[0]['metadata']['name']}")
    until("what somebody deleted is made again", lambda: addresses(s, "front") == [f"{ip['front-a']}:8000"] and len(slices(s, "front")) == 2)
    s.ok("PATCH", f"{ENDPOINTS}/front", {"subsets": []}, type=MERGE)
    until("what somebody changed is as it was", lambda: addresses(s, "front") == [f"{ip['front-a']}:8000"])
    s.ok("PATCH", f"{PODS}/front-a", {"metadata": {"labels": {"app": "other"}}}, type=MERGE)
    until("a pod that is no longer selected is gone", lambda: addresses(s, "front") == [])
    s.ok("PATCH", f"{SERVICES}/front", {"spec": {"selector": {"app": "other"}}}, type=MERGE)
    until("the Service follows it", lambda: addresses(s, "front") == [f"{ip['front-a']}:8000"] and addresses(s, "front", "notReadyAddresses") == [])
    s.ok("DELETE", f"{PODS}/front-a", {"gracePeriodSeconds": 0})
    until("a pod that is gone has no address", lambda: addresses(s, "front") == [])
    s.ok("DELETE", f"{PODS}/front-b", {"gracePeriodSeconds": 0})
    s.ok("DELETE", f"{SERVICES}/front")
    until("they go with the Service", lambda: addresses(s, "front") is None and slices(s, "front") == [])


def leaves_others_alone(s):
    """Without a selector whoever made the Service says who is behind it; so it is where there are no pods."""
    plain = service("outside")
    del plain["spec"]["selector"]
    s.ok("POST", ENDPOINTS, {"metadata": {"name": "outside"}, "subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 5432}]}]})
    s.ok("POST", SERVICES, plain)
    s.ok("POST", SERVICES, {"metadata": {"name": "elsewhere"}, "spec": {"type": "ExternalName", "externalName": "example.com", "selector": {"a": "b"}}})
    s.ok("POST", SERVICES, service("marker", clusterIP="None"))
    until("all are looked at", lambda: addresses(s, "marker") == [])
    assert addresses(s, "outside") == ["192.0.2.1:5432"] and addresses(s, "elsewhere") is None
    headless = s.ok("GET", f"{ENDPOINTS}/marker")["metadata"]["labels"]
    assert headless["service.kubernetes.io/headless"] == "", headless
    for name in ("outside", "elsewhere", "marker"):
        s.ok("DELETE", f"{SERVICES}/{name}")
    until("ours are gone", lambda: addresses(s, "marker") is None)
    assert addresses(s, "outside") == ["192.0.2.1:5432"], "what others made is theirs"
    s.ok("DELETE", f"{ENDPOINTS}/outside")


SERVES = """import socket, threading, os
who = os.environ['WHO'].encode()
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(('', 8001))
def answer():
    while True:
        udp.sendto(who, udp.recvfrom(100)[1])
threading.Thread(target=answer, daemon=True).start()
tcp = socket.create_server(('', 8000))
open('/tmp/ready', 'w').close()
while True:
    c = tcp.accept()[0]
    c.sendall(who)
    c.close()
"""
ASKS_ALL = """import json, socket
def tcp(host, port=80):
    with socket.create_connection((host, port), timeout=30) as c:
        return c.recv(100).decode()
def udp(host, port):
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.settimeout(30)
    u.sendto(b'?', (host, port))
    return u.recv(100).decode()
def refused(host):
    try:
        tcp(host)
    except OSError as e:
        return type(e).__name__
def names(host):
    try:
        return sorted({a[4][0] for a in socket.getaddrinfo(host, 80, socket.AF_INET)})
    except socket.gaierror:
        return []
print(json.dumps({
    'any': sorted({tcp('any') for i in range(40)}), 'any udp': sorted({udp('any', 81) for i in range(40)}),
    'sticky': len({tcp('sticky') for i in range(40)}), 'sticky udp': len({udp('sticky', 81) for i in range(40)}),
    'named': tcp('named'), 'sliced': tcp('sliced'), 'refused': refused('local'), 'not ready': refused('late'),
    'alias': tcp('alias'), 'bare': names('bare'), 'host': names('db-0.bare'), 'unready': names('late-bare')}))
"""


def echo(name, **labels):
    p = web(name, "echo", ready=False)
    main = p["spec"]["containers"][0]
    main["command"] = ["python3", "-c", SERVES]
    main["env"] = [{"name": "WHO", "value": name}]
    main["ports"].append({"name": "ask", "containerPort": 8001, "protocol": "UDP"})
    return p


def slice_of(name, service, port, ip, **endpoint):
    return {"metadata": {"name": name, "labels": {"kubernetes.io/service-name": service}}, "addressType": "IPv4",
            "endpoints": [{"addresses": [ip], **endpoint}], "ports": [{"name": port, "port": 8000, "protocol": "TCP"}]}


def leads_traffic(s):
    """All kinds of Services, asked by a program in a pod."""
    made = []
    plain = {"ports": [{"name": "web", "port": 80}], "selector": None}

    def make(at, body):
        s.ok("POST", at, body)
        made.append(f"{at}/{body['metadata']['name']}")

    for name in ("echo-a", "echo-b"):
        make(PODS, echo(name))
    both = {"selector": {"app": "echo"}, "ports": [{"name": "web", "port": 80, "targetPort": "http"}, {"name": "ask", "port": 81, "targetPort": "ask", "protocol": "UDP"}]}
    make(SERVICES, service("any", **both))
    make(SERVICES, service("sticky", **both, sessionAffinity="ClientIP"))
    make(SERVICES, {"metadata": {"name": "alias"}, "spec": {"type": "ExternalName", "externalName": "named.default.svc.cluster.local"}})
    for name in ("named", "sliced", "local", "late"):
        make(SERVICES, service(name, **plain))
    for name in ("bare", "late-bare"):
        make(SERVICES, service(name, **plain, clusterIP="None"))
    until("both are ready", lambda: len(addresses(s, "any") or []) == 4)
    ip = {n: s.ok("GET", f"{PODS}/{n}")["status"]["podIP"] for n in ("echo-a", "echo-b")}
    make(ENDPOINTS, {"metadata": {"name": "named"}, "subsets": [{"addresses": [{"ip": ip["echo-a"]}], "ports": [{"name": "other", "port": 1}, {"name": "web", "port": 8000}]}]})
    make(SLICES, slice_of("sliced-x", "sliced", "web", ip["echo-b"]))
    make(SLICES, slice_of("late-x", "late", "web", ip["echo-b"], conditions={"ready": False}))
    make(SLICES, slice_of("late-bare-x", "late-bare", "web", ip["echo-b"], conditions={"ready": False}))
    make(SLICES, slice_of("bare-x", "bare", "web", ip["echo-a"], hostname="db-0"))
    make(SLICES, slice_of("bare-y", "bare", "web", ip["echo-b"]))
    for at in ("127.0.0.1", "169.254.169.254", "0.0.0.0", "nowhere"):  # not the machine's own, by which others would be led in
        status, answer = s.call("POST", SLICES, slice_of("wrong", "local", "web", at))
        assert status == 422 and answer["details"]["causes"][0]["field"] == "endpoints[0].addresses[0]", answer
        status, answer = s.call("POST", ENDPOINTS, {"metadata": {"name": "local"}, "subsets": [{"addresses": [{"ip": at}]}]})
        assert status == 422 and answer["details"]["causes"][0]["field"] == "subsets[0].addresses[0].ip", answer
    asks = pod("asks-all", 'exec python3 -c "$ASKS"')
    asks["spec"]["containers"][0]["env"] = [{"name": "ASKS", "value": ASKS_ALL}]
    make(PODS, asks)
    until("it has ended", lambda: s.ok("GET", f"{PODS}/asks-all")["status"]["phase"] in ("Succeeded", "Failed"))
    log = s.call("GET", f"{PODS}/asks-all/log")[1]
    said = json.loads(log.splitlines()[-1]) if log.startswith("{") else log
    assert said == {"any": ["echo-a", "echo-b"], "any udp": ["echo-a", "echo-b"], "sticky": 1, "sticky udp": 1, "named": "echo-a", "sliced": "echo-b",
                    "refused": "ConnectionRefusedError", "not ready": "ConnectionRefusedError", "alias": "echo-a",
                    "bare": sorted(ip.values()), "host": [ip["echo-a"]], "unready": []}, said
    for path in reversed(made):
        s.ok("DELETE", path, {"gracePeriodSeconds": 0})


def asked(port):
    """What the Service says at a port of this machine; None: nobody listens; empty: nobody is behind it."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as c:
            return c.recv(100).decode()
    except (ConnectionRefusedError, ConnectionResetError):  # reset: it was closed before we were let in
        return None


def asked_by_datagram(port, c=None):
    """The same of UDP; what is lost is lost, and None is said of it too."""
    with contextlib.ExitStack() as own:
        c = c or own.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        c.settimeout(1)
        c.connect(("127.0.0.1", port))
        with contextlib.suppress(OSError):
            c.send(b"who")
            return c.recv(100).decode()


def opens_node_ports(s):
    ports = [{"name": "web", "port": 80, "targetPort": "http"}, {"name": "more", "port": 82, "targetPort": "http"},
             {"name": "ask", "port": 81, "targetPort": "ask", "protocol": "UDP"}]
    made = s.ok("POST", SERVICES, service("door", selector={"app": "echo"}, type="NodePort", ports=ports))
    at = [p["nodePort"] for p in made["spec"]["ports"]]
    assert len(set(at)) == 3 and all(30000 <= n <= 32767 for n in at) and made["spec"]["externalTrafficPolicy"] == "Cluster", made["spec"]
    until("it listens, and nobody is there", lambda: asked(at[0]) == "")
    s.ok("POST", PODS, echo("door-a"))
    until("it leads to the pod", lambda: asked(at[0]) == "door-a" and asked(at[1]) == "door-a")
    until("so it does with datagrams", lambda: asked_by_datagram(at[2]) == "door-a")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as c:
        assert [asked_by_datagram(at[2], c) for _ in range(20)] == ["door-a"] * 20
    assert [asked_by_datagram(at[2]) for _ in range(300)] == ["door-a"] * 300, "more senders than are kept"
    for number, words in ((at[0], "already allocated"), (80, "30000-32767")):
        status, answer = s.call("POST", SERVICES, service("other", type="NodePort", ports=[{"port": 1, "nodePort": number}]))
        cause = answer["details"]["causes"][0]
        assert (status, cause["field"]) == (422, "spec.ports[0].nodePort") and words in cause["message"], answer
        assert cause["message"].count("Invalid value") == 1, cause
    status, answer = s.call("POST", SERVICES, service("other", ports=[{"port": 1, "nodePort": 30001}]))
    assert status == 422 and "ClusterIP" in answer["message"], answer
    again = s.ok("PUT", f"{SERVICES}/door", service("door", selector={"app": "echo"}, type="NodePort", ports=[ports[0]]))
    assert [p["nodePort"] for p in again["spec"]["ports"]] == at[:1], "as it was, also for who writes his file again"
    until("one is closed, one is open", lambda: (asked(at[0]), asked(at[1]), asked_by_datagram(at[2])) == ("door-a", None, None))
    with socket.create_connection(("127.0.0.1", at[0])) as c:
        plain = s.ok("PATCH", f"{SERVICES}/door", {"spec": {"type": "ClusterIP"}}, type=MERGE)
        assert "nodePort" not in plain["spec"]["ports"][0], plain["spec"]
        until("it is closed", lambda: asked(at[0]) is None)
        assert c.recv(100) == b"door-a", "who has come in is not sent away"
    s.ok("DELETE", f"{SERVICES}/door")
    s.ok("DELETE", f"{PODS}/door-a", {"gracePeriodSeconds": 0})


def ends_with_its_namespace(s):
    s.ok("POST", NAMESPACES, {"metadata": {"name": "brief"}})
    at = f"{NAMESPACES}/brief"
    s.ok("POST", f"{at}/services", service("front"))
    until("it is there", lambda: s.call("GET", f"{at}/endpoints/front")[0] == 200)
    s.ok("DELETE", at)
    until("the namespace ends", lambda: s.call("GET", at)[0] == 404)


ASKS = """d=/var/run/secrets/kubernetes.io/serviceaccount
for host in $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT kubernetes.default.svc kubernetes.default.svc.cluster.local:443 $OLD; do
    curl -s -o /dev/null -w "$host %{http_code}\\n" --cacert $d/ca.crt -H "Authorization: Bearer $(cat $d/token)" https://$host/version
done"""


def names_itself(s):
    """The Service kubernetes: programs in pods find the server by its name, by its address, and as they always did."""
    found = s.ok("GET", f"{SERVICES}/kubernetes")
    address = found["spec"]["clusterIP"]
    assert found["spec"]["ports"][0]["port"] == 443 and found["metadata"]["labels"]["component"] == "apiserver", found
    assert addresses(s, "kubernetes") == [f"{address}:443"], addresses(s, "kubernetes")
    assert [e["addresses"] for e in slices(s, "kubernetes")[0]["endpoints"]] == [[address]]
    p = pod("asks", ASKS)
    p["spec"]["containers"][0]["env"] = [{"name": "OLD", "value": f"{address}:6443"}]
    s.ok("POST", PODS, p)
    until("it has ended", lambda: s.ok("GET", f"{PODS}/asks")["status"]["phase"] == "Succeeded")
    said = s.call("GET", f"{PODS}/asks/log")[1].split("\n")
    assert said[:4] == [f"{h} 200" for h in (f"{address}:443", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local:443", f"{address}:6443")], said
    s.ok("DELETE", f"{PODS}/asks")
    uid = found["metadata"]["uid"]
    s.ok("DELETE", f"{SERVICES}/kubernetes")
    s.ok("DELETE", f"{ENDPOINTS}/kubernetes")
    until("it is made again", lambda: s.call("GET", f"{SERVICES}/kubernetes")[1].get("metadata", {}).get("uid", uid) != uid and addresses(s, "kubernetes") == [f"{address}:443"])
    s.ok("PATCH", f"{SERVICES}/kubernetes", {"spec": {"ports": [{"name": "x", "port": 1}]}}, type=MERGE)
    until("it is as it was", lambda: s.ok("GET", f"{SERVICES}/kubernetes")["spec"]["ports"][0]["port"] == 443)


READS = """import http.client, json, gzip, os, ssl
d = '/var/run/secrets/kubernetes.io/serviceaccount/'
def ask(query, encoding=None):
    c = http.client.HTTPSConnection(os.environ['KUBERNETES_SERVICE_HOST'], int(os.environ['KUBERNETES_SERVICE_PORT']), context=ssl.create_default_context(cafile=d + 'ca.crt'))
    c.putrequest('GET', '/api/v1/namespaces/packed/configmaps' + query, skip_accept_encoding=True)
    c.putheader('Authorization', 'Bearer ' + open(d + 'token').read())
    if encoding is not None:
        c.putheader('Accept-Encoding', encoding)
    c.endheaders()
    r = c.getresponse()
    body = r.readline() if 'watch' in query else r.read()
    how = r.headers['Content-Encoding']
    packed = len(body)
    body = json.loads(gzip.decompress(body) if how else body)
    print(how, len(body['items']) if 'items' in body else body['type'], r.headers['Vary'] if how else '', packed < 100000)
ask('', 'gzip')
ask('', 'deflate, GZIP ; q=0.5')
ask('', 'gzip;q=0.0')
ask('', 'identity')
ask('')
ask('?limit=5', 'gzip')
ask('?watch=1', 'gzip')
"""


def packs_large_answers(s):
    """As clients on other machines get them: programs in pods come by a network, we by loopback."""
    at = f"{NAMESPACES}/packed"
    s.ok("POST", NAMESPACES, {"metadata": {"name": "packed"}})
    for i in range(40):
        s.ok("POST", f"{at}/configmaps", config_map(f"m{i}", {"a": f"{i} " * 4000}))
    n = 41  # with kube-root-ca.crt
    s.ok("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/packed/rolebindings",
         {"metadata": {"name": "look"}, "roleRef": {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"},
          "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "packed"}]})
    found = [path for _, path in kubectls()]
    p = pod("reads", 'python3 -c "$READS"; for k in $KUBECTLS; do [ -x $k ] || continue; HOME=/tmp $k get configmaps -o name | wc -l; done')
    # those that pods can see: not where they are in somebody's home
    p["spec"]["containers"][0]["env"] = [{"name": "READS", "value": READS}, {"name": "KUBECTLS", "value": " ".join(found)}]
    s.ok("POST", f"{at}/pods", p)
    until("it has ended", lambda: s.ok("GET", f"{at}/pods/reads")["status"]["phase"] in ("Succeeded", "Failed"))
    said = s.call("GET", f"{at}/pods/reads/log")[1].splitlines()
    packed, plain = f"gzip {n} Accept-Encoding True", f"None {n}  False"
    assert said == [packed, packed, plain, plain, plain, "None 5  True", "None ADDED  True", *[str(n)] * (len(said) - 7)], said
    c, r = s.open("GET", f"{at}/configmaps", Accept_Encoding="gzip")
    assert r.headers["Content-Encoding"] is None and len(r.read()) > 128 << 10, "it would cost this machine more than it saves"
    c.close()
    s.ok("DELETE", at)


def kubectl_shows(s, path):
    k = Kubectl(s, path)
    s.ok("POST", SERVICES, service("shown"))
    s.ok("POST", PODS, web("shown-a", "shown"))
    at = until("it is ready", lambda: addresses(s, "shown"))[0]
    assert at in k("get", "endpoints", "shown") and at.split(":")[0] in k("get", "endpointslices"), k("get", "endpointslices")
    words = k("describe", "service", "shown").split()
    assert at in words, words
    address = s.ok("GET", f"{SERVICES}/kubernetes")["spec"]["clusterIP"]
    assert f"{address}:443" in k("describe", "service", "kubernetes").split()
    s.ok("DELETE", f"{SERVICES}/shown")
    s.ok("DELETE", f"{PODS}/shown-a", {"gracePeriodSeconds": 0})


def main():
    suite = Suite()
    s = server_or_skip()
    try:
        for case in (follows_pods, leaves_others_alone, leads_traffic, opens_node_ports, ends_with_its_namespace, names_itself, packs_large_answers):
            suite.case(case.__name__, lambda: case(s))
        for name, path in kubectls():
            suite.case(f"kubectl ({name})", lambda: kubectl_shows(s, path))
    finally:
        s.stop()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
