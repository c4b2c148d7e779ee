import type { Resource } from './ensure.ts';
import type { Install } from './install.ts';
import { logFilter } from './log-filter.ts';

/** Every log entry about a machine that goes or comes is a message of the topic of events. */
export const sink = ({ names, prefix }: Install): Resource => {
  const body = { name: `${prefix}-events`, destination: `pubsub.googleapis.com/${names.topic('events')}`, filter: logFilter };
  return {
    what: `log sink ${names.sink}`,
    host: 'logging',
    path: `v2/${names.sink}`,
    wanted: body,
    create: { method: 'POST', path: `v2/${names.project}/sinks?uniqueWriterIdentity=true`, body },
    change: { method: 'PATCH', path: `v2/${names.sink}?uniqueWriterIdentity=true&updateMask=destination,filter`, body },
  };
};
