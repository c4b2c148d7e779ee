/**
 * The part of the Logging query language in which the filter of the sink is written, with its own precedence: OR binds
 * tighter than AND.
 */

type Test = (entry: unknown) => boolean;

const TOKEN = /\s*(AND\b|OR\b|\(|\)|[\w.]+\s*(?:=~|!~|=)\s*(?:"[^"\\]*"|true|false))/y;

const tokensOf = (filter: string): readonly string[] => {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < filter.length) {
    const at = TOKEN.lastIndex;
    const [, token] = TOKEN.exec(filter) ?? [];
    if (token === undefined) throw new Error(`no query from here: ${filter.slice(at)}`);
    tokens.push(token);
  }
  return tokens;
};

const fieldOf = (entry: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
      entry,
    );

const matches = (pattern: RegExp, value: unknown): boolean => typeof value === 'string' && pattern.test(value);

const comparison = (token: string): Test => {
  const [, path = '', operator, text, flag] = /^([\w.]+)\s*(=~|!~|=)\s*(?:"([^"]*)"|(true|false))$/.exec(token) ?? [];
  const valueIn = (entry: unknown): unknown => fieldOf(entry, path);
  if (operator === '=~') return (entry) => matches(new RegExp(text ?? ''), valueIn(entry));
  if (operator === '!~') return (entry) => !matches(new RegExp(text ?? ''), valueIn(entry));
  return (entry) => (text === undefined ? (valueIn(entry) === true) === (flag === 'true') : valueIn(entry) === text);
};

/** @throws for what it does not support */
export const loggingQuery = (filter: string): Test => {
  const left = [...tokensOf(filter)];
  const take = (wanted: string): boolean => left[0] === wanted && left.shift() !== undefined;
  const primary = (): Test => {
    if (!take('(')) return comparison(left.shift() ?? '');
    const inner = conjunction();
    if (!take(')')) throw new Error('a parenthesis is not closed');
    return inner;
  };
  const disjunction = (): Test => {
    const tests = [primary()];
    while (take('OR')) tests.push(primary());
    return (entry) => tests.some((test) => test(entry));
  };
  const conjunction = (): Test => {
    const tests = [disjunction()];
    while (take('AND')) tests.push(disjunction());
    return (entry) => tests.every((test) => test(entry));
  };
  const whole = conjunction();
  if (left.length > 0) throw new Error(`too much: ${left.join(' ')}`);
  return whole;
};
