/** The JSON in a text, or null when it is none: for readers that try another form next. */
export const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};
