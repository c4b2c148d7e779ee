export const TEST_NOTIFICATION = 'autoscaling:TEST_NOTIFICATION';
