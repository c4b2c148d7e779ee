/**
 * A test on an object's labels:
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
 */
export type LabelTest = (labels: Readonly<Record<string, string>>) => boolean;

const requirementsOf = (selector: string): readonly string[] =>
  selector
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== '');

const setTest = (requirement: string): LabelTest | undefined => {
  const [, key = '', operator, list = ''] = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(requirement) ?? [];
  if (operator === undefined) return undefined;
  const values = list.split(',').map((value) => value.trim());
  const among: LabelTest = (labels) => labels[key] !== undefined && values.includes(labels[key]);
  return operator === 'in' ? among : (labels) => !among(labels);
};

const equalityTest = (requirement: string): LabelTest | undefined => {
  const [, key = '', operator, value] = /^([^\s=!]+)\s*(==|=|!=)\s*(\S*)$/.exec(requirement) ?? [];
  if (operator === undefined) return undefined;
  return operator === '!=' ? (labels) => labels[key] !== value : (labels) => labels[key] === value;
};

const presenceTest = (requirement: string): LabelTest | undefined => {
  const [, not, key = ''] = /^(!?)\s*([^\s=!()]+)$/.exec(requirement) ?? [];
  if (key === '') return undefined;
  return not === '!' ? (labels) => labels[key] === undefined : (labels) => labels[key] !== undefined;
};

/** Returns undefined if the selector is not valid. */
export const labelTest = (selector: string): LabelTest | undefined => {
  const tests = requirementsOf(selector).map((part) => setTest(part) ?? equalityTest(part) ?? presenceTest(part));
  if (tests.some((test) => test === undefined)) return undefined;
  return (labels) => tests.every((test) => test?.(labels));
};
