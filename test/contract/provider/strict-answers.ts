import { instanceIds } from './strict-refusals.ts';

/** What EC2 remembers of an instance and moto forgets: when it was launched last, and that it was put to sleep. */
export interface StrictAnswers {
  /** A call was made and answered well. */
  readonly heed: (params: URLSearchParams) => void;
  /** Moto's answer (XML), with what EC2 would say in it. */
  readonly mended: (xml: string) => string;
}

/** Within an instance's item its launch time comes after its id, and the reason of its state before it. */
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
