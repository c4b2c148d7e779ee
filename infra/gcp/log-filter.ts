/**
 * What the log sink lets through: the end of every call that switches an instance on or off, and what Google and the guest
 * do of themselves, such as at the end of a time limit or for want of a key: Google adds to those as it goes, so all come but
 * what leaves an instance up. Each is a hint to look; what a fence is released by counts as well.
 * https://cloud.google.com/logging/docs/view/logging-query-language: OR binds tighter than AND, so every parenthesis stays;
 * and a backslash means something in its texts, so there is none.
 */
const calls = ['delete', 'insert', 'resume', 'start', 'startWithEncryptionKey', 'stop', 'suspend'].join('|');
/** As providers/gcp/events/log-entry.ts has them. */
const harmless = ['migrateOnHostMaintenance', 'reset'].join('|');

export const logFilter = [
  'resource.type="gce_instance" AND (',
  `(protoPayload.methodName=~"^(v1|beta|alpha)[.]compute[.]instances[.](${calls})$" AND operation.last=true)`,
  `OR (protoPayload.methodName=~"^compute[.]instances[.][a-zA-Z.]+$" AND protoPayload.methodName!~"[.](${harmless})$"))`,
].join(' ');
