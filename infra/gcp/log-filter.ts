/**
 * What the log sink lets through: the end of every call that switches an instance on or off, and what Google and the guest
 * do of themselves. Each is a hint to look; what a fence is released by counts as well.
 * https://cloud.google.com/logging/docs/view/logging-query-language: OR binds tighter than AND, so every parenthesis stays;
 * and a backslash means something in its texts, so there is none.
 */
const calls = ['delete', 'insert', 'resume', 'start', 'startWithEncryptionKey', 'stop', 'suspend'].join('|');
const systemEvents = ['automaticRestart', 'guestTerminate', 'hostError', 'instanceManagerHaltForRestart', 'preempted', 'stoppedDueToPdDoubleServe', 'terminateOnHostMaintenance'].join('|');

export const logFilter = [
  'resource.type="gce_instance" AND (',
  `(protoPayload.methodName=~"^(v1|beta|alpha)[.]compute[.]instances[.](${calls})$" AND operation.last=true)`,
  `OR protoPayload.methodName=~"^compute[.]instances[.](${systemEvents}|repair[.][a-zA-Z]+)$")`,
].join(' ');
