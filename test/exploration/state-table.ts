/** Large tables of numbers, in typed arrays that double their size. */

const EMPTY = -1;
const INITIAL_CAPACITY = 2 ** 16;

/** A list of numbers. */
const growingList = (make: (length: number) => Float64Array | Uint32Array) => {
  let items = make(INITIAL_CAPACITY);
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
  let slots = new Float64Array(INITIAL_CAPACITY).fill(EMPTY);
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

/** The states that were reached, in order, each with the state from which it was reached first. */
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

/** Gives each distinct value a number. Two values are the same if their texts are the same. */
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

/**
 * A number holds integers of up to 53 bits. A state with one run uses 26 of them for the run, and one with two runs 18
 * for each.
 */
const RUN_BITS = { 1: 26, 2: 18 } as const;
const WORLD_BITS = { 1: 26, 2: 17 } as const;

const checked = (number: number, bits: number, what: string): number => {
  if (number >= 2 ** bits) throw new RangeError(`there are more than 2^${bits} ${what}`);
  return number;
};

/**
 * A state consists of a world, and the runs in it. The order of the two runs does not matter, so `one` is always the
 * run with the higher number.
 */
interface StateParts {
  readonly world: number;
  readonly one: number;
  readonly other: number;
}

/** Returns whether the runs with these numbers change places in the next state. */
export const changePlaces = (one: number, other: number): boolean => one < other;

/** Returns functions that convert a state into one number, and back. */
export const stateKeys = (runs: 1 | 2) => {
  const most = 2 ** RUN_BITS[runs];
  const perWorld = runs === 1 ? most : most * most;
  const runsKey = (one: number, other: number): number =>
    runs === 1 ? one + other : Math.min(one, other) * most + Math.max(one, other);
  return {
    of: (world: number, one: number, other: number): number =>
      checked(world, WORLD_BITS[runs], 'worlds') * perWorld +
      runsKey(checked(one, RUN_BITS[runs], 'runs'), checked(other, RUN_BITS[runs], 'runs')),
    partsOf: (key: number): StateParts => {
      const both = key % perWorld;
      return {
        world: Math.floor(key / perWorld),
        one: runs === 1 ? both : both % most,
        other: runs === 1 ? 0 : Math.floor(both / most),
      };
    },
  };
};
