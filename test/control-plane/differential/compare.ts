import type { Line } from './lines.ts';
import { linesOf } from './lines.ts';
import { UNIQUE } from './facets.ts';
import { finalsOf } from './finals.ts';
import { causeOf, disordersIn } from './order.ts';
import type { Story } from './stage.ts';

/** A story in a form that can be compared: its lines by phase, in seconds from the start of the phase. */
export interface ComparableStory {
  readonly lines: readonly TimedLine[];
  readonly disorders: readonly string[];
  /** By name, as JSON. */
  readonly finals: Readonly<Record<string, string>>;
}

export interface TimedLine extends Pick<Line, 'object' | 'nth' | 'facet' | 'value' | 'by'> {
  readonly phase: string;
  /** Seconds since its cause. Null if the time means nothing. */
  readonly at: number | null;
  /** Seconds since its phase began. */
  readonly whole: number;
  /** Epoch ms. */
  readonly moment: number;
}

const BEFORE = 'before';

/**
 * Kubelets are stand-ins in both clusters. Other changes are made by the script and by Cloudfence. Nothing before the
 * incident is timed.
 */
const UNTIMED: ReadonlySet<string> = new Set(['kubelet', 'somebody', 'cloudfence']);
const isTimed = (phase: string, { by }: Line): boolean => phase !== BEFORE && !UNTIMED.has(by);

const zerosOf = ({ phases }: Story, lines: readonly Line[]): readonly number[] =>
  phases.map((phase) =>
    phase.from === 'announcement' ? phase.at : (lines.find(({ at }) => at >= phase.at)?.at ?? phase.at),
  );

/** Values that differ from cluster to cluster. Only the fact that they changed is compared. */
const unnamed = (lines: readonly Line[], line: Line): string => {
  if (!UNIQUE.has(line.facet) || line.value === '') return line.value;
  const own = lines.filter(
    ({ object, nth, facet, revision }) =>
      object === line.object && nth === line.nth && facet === line.facet && revision <= line.revision,
  );
  return `number ${own.length}`;
};

/** A time counts from the cause of the line, or else from the start of its phase. */
const timed = (story: Story, lines: readonly Line[]): readonly TimedLine[] => {
  const zeros = zerosOf(story, lines);
  return lines.map((line) => {
    const index = story.phases.findLastIndex(({ at }) => line.at >= at);
    const phase = story.phases[index]?.title ?? BEFORE;
    const { object, nth, facet, by } = line;
    const begun = zeros[index] ?? 0;
    const zero = causeOf(lines, line)?.at ?? begun;
    return {
      object,
      nth,
      facet,
      by,
      value: unnamed(lines, line),
      phase,
      at: isTimed(phase, line) ? (line.at - zero) / 1000 : null,
      whole: (line.at - begun) / 1000,
      moment: line.at,
    };
  });
};

export const toComparable = (story: Story): ComparableStory => {
  const lines = linesOf(story.writings, story.participants);
  return {
    lines: timed(story, lines),
    disorders: disordersIn(lines),
    finals: finalsOf(story.writings, story.participants),
  };
};

const sideOf = ({ object, nth, facet }: TimedLine): string => `${object} ${nth}, ${facet}`;
const sidesOf = ({ lines }: ComparableStory) => Map.groupBy(lines, sideOf);

/** Each change of an object in one cluster: who made it, what it changed, and in which phase. */
const deedOf = ({ by, value, phase }: TimedLine): string => `${by} made it "${value}" (${phase})`;
const courseOf = (lines: readonly TimedLine[] | undefined): string =>
  (lines ?? []).map(deedOf).join(', then ') || 'nothing';

const otherCourses = (real: ComparableStory, sandbox: ComparableStory): readonly string[] => {
  const [really, played] = [sidesOf(real), sidesOf(sandbox)];
  return [...new Set([...really.keys(), ...played.keys()])].flatMap((side) => {
    const [right, wrong] = [courseOf(really.get(side)), courseOf(played.get(side))];
    return right === wrong ? [] : [`${side}: really ${right}; in the sandbox ${wrong}`];
  });
};

const otherFinals = (real: ComparableStory, sandbox: ComparableStory): readonly string[] =>
  [...new Set([...Object.keys(real.finals), ...Object.keys(sandbox.finals)])].flatMap((name) => {
    const [right = 'nothing', wrong = 'nothing'] = [real.finals[name], sandbox.finals[name]];
    return right === wrong ? [] : [`${name} at the end: really ${right}; in the sandbox ${wrong}`];
  });

const SHARE = 0.2;
const LEAST_S = 0.3;

type Measure = (line: TimedLine) => number | null;

const sinceCause: Measure = ({ at }) => at;

/** How long the volume takes to move in total. Each step may differ a little, but not all of them. */
const untilMoved: Measure = ({ object, facet, value, at, whole }) =>
  object === 'attachment to refuge' && facet === 'attached' && value === 'true' && at !== null ? whole : null;

const offTime = (line: TimedLine, played: readonly TimedLine[], measure: Measure): string | null => {
  const really = measure(line);
  const times = played.flatMap((one) => measure(one) ?? []);
  if (really === null || times.length === 0) return null;
  const slack = Math.max(LEAST_S, really * SHARE);
  const [earliest, latest] = [Math.min(...times), Math.max(...times)];
  if (really >= earliest - slack && really <= latest + slack) return null;
  const simulated = `in the sandbox after ${earliest.toFixed(2)} to ${latest.toFixed(2)} s`;
  return `${sideOf(line)} "${line.value}": really after ${really.toFixed(2)} s; ${simulated}`;
};

/**
 * The plays of the sandbox differ in the phases of everything that repeats. A real time has to be near one of theirs.
 */
const otherTimes = (real: ComparableStory, plays: readonly ComparableStory[]): readonly string[] => {
  const played = plays.map(sidesOf);
  return [...sidesOf(real)].flatMap(([side, lines]) =>
    lines.flatMap((line, index) => {
      const same = played.flatMap((sides) => sides.get(side)?.[index] ?? []);
      return [sinceCause, untilMoved].flatMap((measure) => offTime(line, same, measure) ?? []);
    }),
  );
};

const RACE_MS = 500;

/** Kubelets are stand-ins, so their place among the others has no meaning. */
const inTurn = ({ lines }: ComparableStory): readonly TimedLine[] =>
  lines.filter(({ phase, by }) => phase !== BEFORE && by !== 'kubelet');
const lineOf = (line: TimedLine): string => `${sideOf(line)} "${line.value}" (${line.phase})`;

/**
 * Lists the pairs of lines whose order differs: on the real control plane, one comes so long before the other that it
 * is no race, and in the sandbox it never does.
 */
const otherOrders = (real: ComparableStory, plays: readonly ComparableStory[]): readonly string[] => {
  const turns = plays.map((play) => new Map(inTurn(play).map((line, turn) => [lineOf(line), turn])));
  const everBefore = (one: string, other: string): boolean =>
    turns.some((turn) => (turn.get(one) ?? -1) < (turn.get(other) ?? Number.POSITIVE_INFINITY));
  const lines = inTurn(real).map((line) => ({ name: lineOf(line), moment: line.moment }));
  return lines.flatMap((one, turn) =>
    lines
      .slice(turn + 1)
      .filter((other) => other.moment - one.moment >= RACE_MS && !everBefore(one.name, other.name))
      .map((other) => `${one.name} really comes before ${other.name}, in the sandbox after it`),
  );
};

/**
 * Returns where the sandbox differs from the real control plane: the courses, the ends, and the order of causes in the
 * nearest play, and each order and time that no play is near to. Empty if they agree.
 */
export const differences = (real: ComparableStory, plays: readonly ComparableStory[]): readonly string[] => {
  const perPlay = plays.map((play) => [
    ...otherCourses(real, play),
    ...otherFinals(real, play),
    ...play.disorders.map((disorder) => `in the sandbox ${disorder}`),
  ]);
  const [nearest = ['nothing was played']] = perPlay.toSorted((one, other) => one.length - other.length);
  return [
    ...real.disorders.map((disorder) => `really ${disorder}`),
    ...nearest,
    ...otherOrders(real, plays),
    ...otherTimes(real, plays),
  ];
};
