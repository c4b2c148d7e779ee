import { shadowSummaryOf, type PhaseDuration, phaseDurations, kubernetesAlone } from './figures.ts';
import { machineTime } from './words.ts';
import type { Report } from './select.ts';
import { type Phase, timelineOf, tookOf } from './timeline.ts';

/**
 * The report as JSON, for other programs. It contains each incident in full. Times are ISO texts, and durations are ms.
 */

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : machineTime(ms));

const phaseJson = (start: number) => (phase: Phase) => ({
  phase: phase.name,
  at: timeOrNull(phase.at),
  after: phase.at === null ? null : phase.at - start,
  took: tookOf(phase),
  missing: phase.missing,
});

const durationJson = ({ from, to, known, of, p50, p90, p99, longest }: PhaseDuration) => ({
  from,
  to,
  known,
  of,
  p50,
  p90,
  p99,
  longest,
});

const shadowJson = ({ incidents, read }: Report) => {
  const { steps, notSeen, ...rest } = shadowSummaryOf(incidents, read);
  const bench = { ...kubernetesAlone.cloudfence, source: kubernetesAlone.source };
  return { ...rest, steps: Object.fromEntries(steps), notSeen: Object.fromEntries(notSeen), bench };
};

/** Returns the report as JSON. Pure. */
export const reportJson = (report: Report): string => {
  const { wanted, where, made, incidents, damaged } = report;
  const { phases, wholes } = phaseDurations(incidents);
  const json = {
    kind: 'cloudfence/report',
    version: 1,
    made: machineTime(made),
    where,
    wanted: { ...wanted, since: timeOrNull(wanted.since) },
    spreads: [...wholes, ...phases].map(durationJson),
    ...(wanted.shadow && { shadow: shadowJson(report) }),
    kubernetesAlone,
    incidents: incidents.map((incident) => {
      const { start, recovery, after } = timelineOf(incident);
      return { timeline: [...recovery, ...after].map(phaseJson(start)), incident };
    }),
    damaged,
  };
  return `${JSON.stringify(json, null, 2)}\n`;
};
