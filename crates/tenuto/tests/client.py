"""The generated client against a running service: its folder of state is `state`."""

from tenuto.client import Client, ServiceError

client = Client.of_state("state")
status = client.status()
print("status:", status["network"], status["flows"])
contract = {"source": "s2", "targets": ["d1"], "message": "20 kB", "period": "20 ms"}
asked = client.what_if({"changes": [{"action": "add", "name": "CAM", "flow": contract}]}, advice=False)
print("what-if:", not asked["in_force"], "decision", asked["decision"])
added = client.add({"name": "CAM", "flow": contract}, idempotency_key="k1")
print("added: decision", added["decision"])
print("the same answer:", client.add({"name": "CAM", "flow": contract}, idempotency_key="k1")["decision"])
try:
    client.change("CAM", {**contract, "message": "220 kB"}, advice=False)
except ServiceError as error:
    print("refused:", error.status, error.is_refusal, error.problem["refusals"][0]["resource"])
try:
    client.change("CAM", {**contract, "message": "1KB"})
except ServiceError as error:
    print("wrong:", error.status, error.problem["errors"][0]["field"])
print("changed: decision", client.change("CAM", {**contract, "message": "10 kB"})["decision"])
more = {**contract, "message": "100 B"}
print("batch: decision", client.batch({"changes": [{"action": "add", "name": "SECOND", "flow": more}]})["decision"])
names, after = [], None
while True:
    page = client.flows(after=after, limit=1)
    names += [row["name"] for row in page["flows"]]
    after = page.get("next")
    if after is None:
        break
print("pages:", *names)
row = client.flow("CAM")
print("one:", row["name"], row["flow"]["source"])
print("event:", next(event["kind"] for event in client.events(last_event_id=0) if event["kind"] == "accepted"))
print("plan:", client.plan()["network"]["name"])
print("metrics:", "tenuto_flows 3" in client.metrics())
print("removed: decision", client.remove("CAM")["decision"])
try:
    client.flow("CAM")
except ServiceError as error:
    print("missing:", error.status)
try:
    Client(open("state/address").read(), "of nobody").alarms()
except ServiceError as error:
    print("stranger:", error.status)
