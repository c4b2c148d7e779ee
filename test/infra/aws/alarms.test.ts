import { expect, it } from 'vitest';
import { resourcesIn } from './source-files.ts';

/** Alarms about what is lost without a trace, and what is kept for the time after an incident. */

const alarms = resourcesIn('alarms.yml');

it('an alarm begins if no sweep runs, although nothing is measured any more', () => {
  expect(alarms['SweepMissingAlarm']?.Properties).toMatchObject({
    MetricName: 'Invocations',
    Statistic: 'Sum',
    Threshold: 1,
    ComparisonOperator: 'LessThanThreshold',
    TreatMissingData: 'breaching',
  });
});

it('an alarm begins with the first dead letter, and lasts while one is left', () => {
  expect(alarms['DeadLettersAlarm']?.Properties).toMatchObject({
    MetricName: 'ApproximateNumberOfMessagesVisible',
    Dimensions: [{ Name: 'QueueName', Value: 'DeadLetterQueue.QueueName' }],
    Statistic: 'Maximum',
    Threshold: 0,
    ComparisonOperator: 'GreaterThanThreshold',
  });
});

it('the incidents stay if the stack is removed or the bucket is replaced', () => {
  expect(resourcesIn('incidents.yml')['IncidentBucket']).toMatchObject({
    DeletionPolicy: 'Retain',
    UpdateReplacePolicy: 'Retain',
    Properties: { VersioningConfiguration: { Status: 'Enabled' } },
  });
});
