type Members = Record<string, unknown>;

const isMap = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * JSON Merge Patch: null removes a member, maps are merged, and everything else is replaced.
 * https://www.rfc-editor.org/rfc/rfc7386
 */
export const mergePatched = (target: unknown, patch: unknown): unknown => {
  if (!isMap(patch)) return patch;
  const known = isMap(target) ? target : {};
  const kept = Object.entries(known).filter(([key]) => !Object.hasOwn(patch, key));
  const changed = Object.entries(patch).filter(([, value]) => value !== null);
  return Object.fromEntries([
    ...kept,
    ...changed.map(([key, value]) => [key, mergePatched(known[key], value)] as const),
  ]);
};

/** The field that identifies the elements of a list. All other lists are replaced as a whole, such as taints. */
const KEYS: Readonly<Record<string, string>> = {
  addresses: 'type',
  conditions: 'type',
  containers: 'name',
  drivers: 'name',
  env: 'name',
  ephemeralContainers: 'name',
  hostAliases: 'ip',
  imagePullSecrets: 'name',
  initContainers: 'name',
  ownerReferences: 'uid',
  ports: 'containerPort',
  topologySpreadConstraints: 'topologyKey',
  volumeMounts: 'mountPath',
  volumes: 'name',
};

/** Lists of strings to which a patch adds. `$deleteFromPrimitiveList/finalizers` removes strings. */
const ADDED_TO: readonly string[] = ['finalizers'];

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const sameBy =
  (key: string, one: unknown) =>
  (other: unknown): boolean =>
    isMap(one) && isMap(other) && one[key] === other[key];

const directiveOf = (value: unknown): unknown => (isMap(value) ? value['$patch'] : undefined);

/** Applies one element of a patch to the list: it removes, changes, or adds the element with the same key. */
const withElement =
  (key: string) =>
  (list: readonly unknown[], element: unknown): readonly unknown[] => {
    const isSame = sameBy(key, element);
    if (directiveOf(element) === 'delete') return list.filter((one) => !isSame(one));
    if (!list.some(isSame)) return [...list, strategicallyMerged({}, element)];
    return list.map((one) => (isSame(one) ? strategicallyMerged(one, element) : one));
  };

const listMerged = (name: string, known: readonly unknown[], patch: readonly unknown[]): readonly unknown[] => {
  if (ADDED_TO.includes(name)) return [...new Set([...known, ...patch])];
  const key = KEYS[name];
  if (key === undefined) return patch;
  const replaces = patch.some((element) => directiveOf(element) === 'replace');
  const elements = patch.filter((element) => directiveOf(element) !== 'replace');
  return elements.reduce<readonly unknown[]>(withElement(key), replaces ? [] : known);
};

const memberMerged = (name: string, known: unknown, patch: unknown): unknown =>
  Array.isArray(patch) ? listMerged(name, listOf(known), patch) : strategicallyMerged(known, patch);

/** `$retainKeys` names the members to keep, and `$deleteFromPrimitiveList/<list>` the strings to remove. */
const prepared = (known: Members, patch: Members): Members => {
  const retained = patch['$retainKeys'];
  return Object.fromEntries(
    Object.entries(known)
      .filter(([name]) => !Array.isArray(retained) || retained.includes(name))
      .map(([name, value]) => {
        const gone = listOf(patch[`$deleteFromPrimitiveList/${name}`]);
        return [name, gone.length === 0 ? value : listOf(value).filter((word) => !gone.includes(word))] as const;
      }),
  );
};

/**
 * Strategic merge patch, which `kubectl taint`, `cordon`, and `patch` send: a merge patch that also merges lists whose
 * elements have a key. It does not sort: `$setElementOrder` has no effect.
 * https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md
 */
export const strategicallyMerged = (target: unknown, patch: unknown): unknown => {
  if (!isMap(patch)) return patch;
  const directive = directiveOf(patch);
  if (directive === 'delete') return {};
  const known = isMap(target) && directive !== 'replace' ? prepared(target, patch) : {};
  const changed = Object.entries(patch).filter(([name]) => !name.startsWith('$'));
  const merged = changed.map(([name, value]) => [name, memberMerged(name, known[name], value)] as const);
  return Object.fromEntries(
    Object.entries({ ...known, ...Object.fromEntries(merged) }).filter(([, value]) => value !== null),
  );
};
