// What the words of the page mean. The description of the REST interface has them from here.

export const terms = {
  "sojourn time": "from the submission of a job to its end; of a job that has not ended: up to now",
  "wait": "from the submission of a job to its first attempt; it ends there, and what the job stands still later is idle time only",
  "idle": "of a job: how long nothing of it ran, from its submission to its end, the wait included; of a node: how long nothing ran there",
  "slowdown": "sojourn time of a job ÷ a lower bound of the time that it takes alone on the empty cluster: 1 is the best",
  "used": "what attempts hold, as a part of the cluster: the largest part over the kinds of resources",
  "share": "the part of the cluster that is a queue's by its weight",
  "demand": "what the attempts of a queue hold and its waiting tasks ask for together, as a part of the cluster",
  "lent": "what a queue left unused of its share while others used more than theirs, in seconds of the whole cluster",
  "owed": "what a queue has lent and not got back; a queue that used more than its share owes it",
  "received": "what the attempts of a job have held over time, in seconds of the whole cluster",
};

// called are other names of these, in tables and on tiles.
const called = { "sojourn": "sojourn time", "balance": "owed" };

// meaning returns what the name of a figure stands for; undefined: it needs no words.
export function meaning(name) {
  const word = String(name).replace(/^mean /, "");
  return terms[called[word] || word];
}
