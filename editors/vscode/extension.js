// Starts `cepheus lsp` and hands it the rule files that are open; everything else is the server's.
const fs = require("fs");
const path = require("path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

// The command of the settings or, where that is the plain one, the one in the folder's own environment.
function command() {
  const chosen = vscode.workspace.getConfiguration("cepheus").get("command");
  for (const folder of vscode.workspace.workspaceFolders ?? []) {
    for (const place of [".venv/bin/cepheus", ".venv/Scripts/cepheus.exe"]) {
      const own = path.join(folder.uri.fsPath, place);
      if (chosen === "cepheus" && fs.existsSync(own)) {
        return own;
      }
    }
  }
  return chosen;
}

async function activate() {
  const documentSelector = [{ language: "tesla" }, { language: "etalis" }, { language: "sql" }];
  client = new LanguageClient("cepheus", "Cepheus", { command: command(), args: ["lsp"] }, { documentSelector });
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `Cepheus: '${command()} lsp' did not start (${error.message}). Install Cepheus with its extra 'editor', or set cepheus.command.`,
    );
  }
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
