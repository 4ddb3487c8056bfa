/** Images are in the bundles, as `data:` URLs. */
declare module '*.svg' {
  const url: string;
  export default url;
}
/** Stylesheets are bundled beside the scripts that import them. */
declare module '*.css';
