import { readFileSync } from 'node:fs';
import { type Incident, parseIncident } from '../../incidents/incident.ts';
import type { Report } from '../../report/select.ts';

/** Incidents that runs in the sandbox left, and reports of them. */

const readSample = (name: string): Incident => {
  const text = readFileSync(new URL(name, import.meta.url), 'utf8');
  const incident = parseIncident(text);
  if (!incident) throw new Error(`${name} is no incident`);
  return incident;
};

const example = (name: string): Incident => readSample(`../incidents/examples/${name}.json`);

/** A copy of an example, so that its times stay. The picture in README.md shows it. */
export const released = readSample('incident.json');
export const fenced = example('fence');
export const refused = example('refusal');
export const imagined: Incident = { ...example('would-fence'), id: 'unfenced-imagined' };

export const MADE = Date.parse('2026-01-02T00:00:00.000Z');

export const reportOf = (incidents: readonly Incident[], more: Partial<Report> = {}): Report => ({
  wanted: { target: null, since: null, shadow: false },
  where: 'the folder incidents',
  made: MADE,
  incidents,
  read: incidents,
  damaged: [],
  ...more,
});

const later = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString();

/** Returns the same incident with a time for each phase, in seconds after the machine went off. */
export const withPhases = (
  incident: Incident,
  id: string,
  after: Partial<Record<keyof Incident['phases'], number>>,
): Incident => {
  const off = '2026-01-01T12:00:00.000Z';
  const phases = Object.fromEntries(Object.entries(after).map(([name, s]) => [name, later(off, s * 1_000)]));
  return { ...incident, id, fence: id, phases: { ...incident.phases, off, ...phases } };
};

/** What a tenant may write into a name, or a machine into its evidence. */
export const HOSTILE: readonly { readonly called: string; readonly text: string }[] = [
  { called: 'a script', text: '</script><script>alert(1)</script>' },
  { called: 'an SVG', text: '</style><svg onload=alert(1)>' },
  { called: 'an image behind an attribute', text: '"><img src=x onerror=alert(1)>' },
  { called: 'an attribute', text: "' onfocus='alert(1)' autofocus='" },
  { called: 'an address', text: '</title><base href=//evil>' },
  { called: 'a comment', text: '<!--' },
  { called: 'an end of CDATA', text: ']]>' },
  { called: 'an escaped tag', text: '&lt;script&gt;' },
  { called: 'a change of direction', text: '\u202Egpj.exe\u202C' },
  { called: 'a Hebrew name', text: 'שלום-עולם' },
  { called: 'a sequence for terminals', text: '\u0000\u001B[31m\u0007' },
  { called: 'half a character', text: '\uD800' },
  { called: 'a very long word', text: 'a'.repeat(5_000) },
  { called: 'a very long name', text: 'x-'.repeat(300) },
  { called: 'Markdown', text: '| a | b |\n# heading\n[link](javascript:alert(1)) `code`' },
];

/** Returns the incident with this text wherever an incident contains a text of others. */
export const tainted = (incident: Incident, text: string): Incident => ({
  ...incident,
  node: text,
  machine: text,
  cluster: text,
  account: text,
  region: text,
  zone: text,
  generation: text,
  bootID: text,
  vouched: text,
  triggers: incident.triggers.map((one) => ({ ...one, event: text, says: text })),
  proofs: incident.proofs.map((one) => ({ ...one, power: text, requestId: text, evidence: { [text]: text } })),
  steps: incident.steps.map((one) => ({
    ...one,
    step: text,
    target: text,
    message: text,
    because: { code: text, says: text },
  })),
  ends: incident.ends.map((one) => ({ ...one, because: { code: text, says: text }, run: text })),
  volumes: [{ driver: text, handle: text, persistentVolume: text, attachment: text }],
  pods: [{ namespace: text, name: text, uid: text, replacedBy: text }],
  left: [{ what: text, why: text }],
  release: incident.release && {
    ...incident.release,
    bootID: text,
    accepted: text,
    evidence: { [text]: text },
    because: { code: text, says: text },
  },
});
