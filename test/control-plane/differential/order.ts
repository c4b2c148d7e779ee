import type { Line } from './lines.ts';

/** A change, by its subject. `nth` is set if it is not the first with that name. */
interface Change {
  readonly object: string;
  readonly nth?: number;
  readonly facet: string;
  readonly value: string | RegExp;
}

const change = (object: string, facet: string, value: Change['value'], nth = 1): Change => ({
  object,
  facet,
  value,
  nth,
});

/** Causes and their effects. These orders are no races. */
const causes: readonly (readonly [Change, Change])[] = [
  [change('pod', 'exists', 'gone'), change('pod', 'exists', 'yes', 2)],
  [change('pod', 'exists', 'yes', 2), change('pod', 'on', /./, 2)],
  [change('node home', 'taints', /out-of-service/), change('pod', 'exists', 'gone')],
  [change('pod', 'exists', 'gone'), change('node home', 'attached', '')],
  [change('node home', 'attached', ''), change('attachment to home', 'ending', 'yes')],
  [change('attachment to home', 'ending', 'yes'), change('attachment to home', 'exists', 'gone')],
  [change('attachment to home', 'exists', 'gone'), change('attachment to refuge', 'attached', 'true')],
  [change('attachment to home', 'exists', 'gone'), change('attachment to refuge', 'attach error', '')],
  [change('attachment to home', 'ending', 'yes'), change('attachment to home', 'detach error', 'yes')],
  [change('attachment to refuge', 'exists', 'yes'), change('attachment to refuge', 'finalizers', /external-attacher/)],
  [
    change('attachment to refuge', 'finalizers', /external-attacher/),
    change('attachment to refuge', 'attached', 'true'),
  ],
  [change('attachment to refuge', 'attached', 'true'), change('node refuge', 'attached', /DISK/)],
  [change('pod', 'on', 'REFUGE', 2), change('node refuge', 'in use', /DISK/)],
  [change('node refuge', 'attached', /DISK/), change('pod', 'phase', 'Running', 2)],
  [change('node home', 'exists', 'gone'), change('csinode home', 'exists', 'gone')],
  [change('node home', 'taints', /unreachable=:NoSchedule/), change('node home', 'taints', /unreachable=:NoExecute/)],
  [change('node home', 'ready', /^Unknown/), change('node home', 'taints', /unreachable=:NoSchedule/)],
];

/** Usual orders. Times count from the first, but the effect may have another cause. */
const usualCauses: typeof causes = [
  [change('attachment to home', 'exists', 'gone'), change('attachment to refuge', 'exists', 'yes')],
  [change('attachment to home', 'detach error', 'yes'), change('attachment to refuge', 'exists', 'yes')],
  [
    change('attachment to refuge', 'finalizers', /external-attacher/),
    change('attachment to refuge', 'attach error', 'yes'),
  ],
];

const fits = (line: Line, { object, nth, facet, value }: Change): boolean =>
  line.object === object &&
  line.nth === (nth ?? 1) &&
  line.facet === facet &&
  (typeof value === 'string' ? line.value === value : value.test(line.value));

const inWords = ({ object, nth = 1, facet, value }: Change): string => `${object} ${nth}, ${facet} "${String(value)}"`;

/** Two facets of one object may change in one write. */
const outOfOrder = (lines: readonly Line[], [cause, effect]: readonly [Change, Change]): boolean => {
  const [first, second] = [firstThatFits(lines, cause), firstThatFits(lines, effect)];
  return first !== undefined && second !== undefined && first.revision > second.revision;
};

const firstThatFits = (lines: readonly Line[], wanted: Change): Line | undefined =>
  lines.find((line) => fits(line, wanted));

/** The last cause that was complete before the write of this line. */
export const causeOf = (lines: readonly Line[], { revision }: Line): Line | undefined =>
  [...causes, ...usualCauses]
    .filter(([, effect]) => firstThatFits(lines, effect)?.revision === revision)
    .flatMap(([cause]) => firstThatFits(lines, cause) ?? [])
    .filter((cause) => cause.revision < revision)
    .toSorted((one, other) => one.revision - other.revision)
    .at(-1);

/** Effects that come before their causes. */
export const disordersIn = (lines: readonly Line[]): readonly string[] =>
  causes
    .filter((pair) => outOfOrder(lines, pair))
    .map(([cause, effect]) => `(${inWords(effect)}) comes before (${inWords(cause)})`);
