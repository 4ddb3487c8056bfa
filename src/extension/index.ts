// `belfry/extension`: what authors of extensions use, by subject. The extensions in src/extensions are written with it. docs/extend/extensions.md says
// which changes of these names a version may contain.
export * from './access.ts';
export * from './data.ts';
export * from './declarations.ts';
export * from './http.ts';
export * from './users.ts';
export * from './work.ts';
