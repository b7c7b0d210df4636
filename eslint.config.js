// The rules for the scripts of the review page (modules), of the report (plain scripts that share one
// scope) and for their tests.

import js from "@eslint/js";
import globals from "globals";

const REVIEW = "src/tagloom/review/static/";
const REPORT = "src/tagloom/completion/page/";
// Names of files and tags are not to be trusted: they may become text and attributes, never markup.
const MARKUP = ["innerHTML", "outerHTML", "insertAdjacentHTML", "write", "writeln"];

export default [
  { ignores: ["node_modules/", ".venv*/", "build/", "dist/"] },
  js.configs.recommended,
  {
    rules: {
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-restricted-properties": ["error", ...MARKUP.map((property) => ({ property }))],
    },
  },
  {
    files: [`${REVIEW}**/*.js`],
    languageOptions: { sourceType: "module", globals: globals.browser },
  },
  {
    files: [`${REVIEW}theme.js`],
    languageOptions: { sourceType: "script", globals: globals.browser },
  },
  {
    // Joined into one script: each file uses what those before it define.
    files: [`${REPORT}*.js`],
    languageOptions: { sourceType: "script", globals: globals.browser },
    rules: { "no-undef": "off", "no-unused-vars": "off", "no-redeclare": "off" },
  },
  {
    files: ["tests/js/**/*.js", "*.js"],
    languageOptions: { sourceType: "module", globals: { ...globals.node, ...globals.browser } },
    rules: { "no-restricted-properties": "off" },
  },
];
