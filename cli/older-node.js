// Adds language features that the demo uses but Node 20 lacks.
const grouped = (items, keyOf, add) => {
  for (const [at, item] of [...items].entries()) add(keyOf(item, at), item);
};

Map.groupBy ??= (items, keyOf) => {
  const groups = new Map();
  grouped(items, keyOf, (key, item) => (groups.has(key) ? groups.get(key).push(item) : groups.set(key, [item])));
  return groups;
};

Object.groupBy ??= (items, keyOf) => Object.fromEntries(Map.groupBy(items, keyOf));

Promise.withResolvers ??= () => {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
};

// The clouds' libraries warn about versions of Node that they will not support. Here they only communicate with the
// demo.
process.removeAllListeners('warning');
