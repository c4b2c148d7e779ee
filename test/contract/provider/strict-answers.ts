import { instanceIds } from './strict-refusals.ts';

/** Facts about an instance that EC2 keeps and moto forgets: the last launch time, and whether it hibernated. */
export interface StrictAnswers {
  /** Called after each successful call. */
  readonly heed: (params: URLSearchParams) => void;
  /** Returns the response of moto (XML) with the facts that EC2 would include. */
  readonly mended: (xml: string) => string;
}

/** In the item of an instance, its launch time comes after its ID, and the reason of its state before it. */
const withLaunchTime = (xml: string, id: string, time: string): string =>
  xml.replace(new RegExp(`(<instanceId>${id}</instanceId>(?:(?!<instanceId>)[^])*?<launchTime>)[^<]*`), `$1${time}`);

const withReason = (xml: string, id: string, reason: string): string =>
  xml.replace(
    new RegExp(`(<stateReason><code>)[^<]*((?:(?!<stateReason>|<instanceId>)[^])*<instanceId>${id}</instanceId>)`),
    `$1${reason}$2`,
  );

export const strictAnswers = (now: () => Date): StrictAnswers => {
  const launched = new Map<string, string>();
  const hibernated = new Set<string>();
  const start = (id: string): void => {
    launched.set(id, now().toISOString());
    hibernated.delete(id);
  };
  return {
    heed: (params) => {
      const action = params.get('Action');
      const toSleep = action === 'StopInstances' && params.get('Hibernate') === 'true';
      for (const id of instanceIds(params)) {
        if (action === 'StartInstances') start(id);
        if (toSleep) hibernated.add(id);
      }
    },
    mended: (xml) => {
      const relaunched = [...launched].reduce((text, [id, time]) => withLaunchTime(text, id, time), xml);
      return [...hibernated].reduce((text, id) => withReason(text, id, 'Client.UserInitiatedHibernate'), relaunched);
    },
  };
};
