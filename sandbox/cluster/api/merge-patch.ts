const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** JSON Merge Patch: null takes a member away, maps merge, all else replaces. https://www.rfc-editor.org/rfc/rfc7386 */
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
