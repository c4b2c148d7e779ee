/** Large tables of numbers, in typed arrays that double. */

const EMPTY = -1;
const AT_FIRST = 2 ** 16;

/** A list of numbers. */
const growingList = (make: (length: number) => Float64Array | Uint32Array) => {
  let items = make(AT_FIRST);
  const put = (index: number, value: number): void => {
    if (index >= items.length) {
      const longer = make(items.length * 2);
      longer.set(items);
      items = longer;
    }
    items[index] = value;
  };
  return { put, at: (index: number): number => items[index] ?? 0 };
};

const hashOf = (key: number): number =>
  (Math.imul(key % 0x7f_ff_ff_ff, 0x9e_37_79_b1) ^ Math.imul(key / 0x7f_ff_ff_ff, 0x85_eb_ca_6b)) >>> 0;

/** A set of integers that are not negative, by open addressing. */
const keySet = () => {
  let slots = new Float64Array(AT_FIRST).fill(EMPTY);
  let count = 0;
  const slotOf = (key: number): number => {
    let at = hashOf(key) & (slots.length - 1);
    while (slots[at] !== EMPTY && slots[at] !== key) at = (at + 1) & (slots.length - 1);
    return at;
  };
  const grow = (): void => {
    const before = slots;
    slots = new Float64Array(before.length * 2).fill(EMPTY);
    for (const key of before) if (key !== EMPTY) slots[slotOf(key)] = key;
  };
  /** Returns whether the key is new. */
  const add = (key: number): boolean => {
    const at = slotOf(key);
    if (slots[at] === key) return false;
    slots[at] = key;
    count += 1;
    if (count * 2 > slots.length) grow();
    return true;
  };
  return { add };
};

/** The states that were reached, in order, each with the one from which it was reached first. */
export const stateTable = () => {
  const known = keySet();
  const keys = growingList((length) => new Float64Array(length));
  const parents = growingList((length) => new Uint32Array(length));
  let size = 0;
  /** Adds a state unless it is known. Returns whether it is new. */
  const add = (key: number, parent: number): boolean => {
    if (!known.add(key)) return false;
    keys.put(size, key);
    parents.put(size, parent);
    size += 1;
    return true;
  };
  return { add, keyAt: keys.at, parentOf: parents.at, size: () => size };
};

/** Gives each distinct value a number. Two values are the same if their texts are. */
export const numbered = <T>(textOf: (value: T) => string) => {
  const numbers = new Map<string, number>();
  const values: T[] = [];
  const numberOf = (value: T): number => {
    const text = textOf(value);
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, values.length);
    values.push(value);
    return values.length - 1;
  };
  const valueOf = (number: number): T => {
    const value = values[number];
    if (value === undefined) throw new RangeError(`no value has the number ${number}`);
    return value;
  };
  return { numberOf, valueOf, size: () => values.length };
};

/** Returns a function that makes the value for a number once. */
export const onceFor = <V>() => {
  const made: V[] = [];
  return (number: number, make: () => V): V => {
    const known = made[number];
    if (known !== undefined) return known;
    const value = make();
    made[number] = value;
    return value;
  };
};

const SECOND_NUMBERS = 2 ** 26;

/** Returns a function that makes the value for two numbers once. */
export const onceEach = <V>() => {
  const made = new Map<number, V>();
  return (first: number, second: number, make: () => V): V => {
    const key = first * SECOND_NUMBERS + second;
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make();
    made.set(key, value);
    return value;
  };
};

/** Gives each pair of numbers a number, in whichever order they are. A pair with zero has the number of the other. */
export const pairs = () => {
  const numbers = new Map<number, number>();
  const known: number[] = [];
  const of = (one: number, other: number): number => {
    if (one === 0 || other === 0) return one + other;
    const key = Math.min(one, other) * SECOND_NUMBERS + Math.max(one, other);
    const number = numbers.get(key) ?? SECOND_NUMBERS + known.push(key) - 1;
    numbers.set(key, number);
    return number;
  };
  const keyOf = (pair: number): number => (pair < SECOND_NUMBERS ? pair : (known[pair - SECOND_NUMBERS] ?? 0));
  return {
    of,
    first: (pair: number): number => keyOf(pair) % SECOND_NUMBERS,
    second: (pair: number): number => Math.floor(keyOf(pair) / SECOND_NUMBERS),
  };
};
