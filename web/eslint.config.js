import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules", "packages/*/dist", "src/lib/openapi.ts"] },
  ...tseslint.configs.strict,
  {
    files: ["src/**/*.{ts,tsx}"],
    plugins: { "react-hooks": hooks },
    rules: {
      "react-hooks/rules-of-hooks": "error",
      "react-hooks/exhaustive-deps": "error",
      "no-restricted-syntax": [
        "error",
        // The content policy forbids both; the markdown renderer never needs them.
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "No raw HTML." },
      ],
    },
  },
);
