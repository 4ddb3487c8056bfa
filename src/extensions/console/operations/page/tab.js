export const tab = { component: ({ children }) => children, routes: [] };
