/** Epoch ms, or null for a placeholder or nothing at all. */
export const momentOf = (time: string | null | undefined): number | null => {
  const moment = Date.parse(time ?? '');
  return Number.isNaN(moment) ? null : moment;
};
