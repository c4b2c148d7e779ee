'use strict';

/** Stands for what the worker of the Functions host lends an app, and keeps what the app registers. */

const registered = [];

module.exports = {
  registered,
  setProgrammingModel: () => undefined,
  registerFunction: ({ name, bindings }) => registered.push({ name, bindings: Object.values(bindings) }),
  registerHook: () => undefined,
};
