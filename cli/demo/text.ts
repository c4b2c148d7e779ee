import type { News } from './lanes.ts';

/** What people read at a terminal: plain text, at most this many columns wide. */
export const WIDTH = 100;

/** `+m:ss.s` */
export const clockTime = (ms: number): string => {
  const tenths = Math.round(ms / 100);
  const seconds = ((tenths % 600) / 10).toFixed(1).padStart(4, '0');
  return `+${Math.floor(tenths / 600)}:${seconds}`;
};

/** Breaks a text between words; a word that is longer than a line is cut. */
export const wrapped = (text: string, width: number): readonly string[] => {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).flatMap((long) => long.match(new RegExp(`.{1,${width}}`, 'g')) ?? [])) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
};

/** Wraps a text under a first column that only the first line has. */
export const hanging = (head: string, text: string): readonly string[] =>
  wrapped(text, WIDTH - head.length).map((line, at) => `${at === 0 ? head : ' '.repeat(head.length)}${line}`);

export const newsLines = ({ at, lane, says }: News): readonly string[] => hanging(`${clockTime(at).padEnd(9)} ${lane.padEnd(16)}  `, says);
