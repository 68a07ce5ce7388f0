// The plugin's handler as a directory hook: one implementation, two ways to load it.
export { onInternal as default } from "../../index.js";
