"""The public programs that public_programs.py runs: where each is, and how it is shortened."""

from __future__ import annotations

import dataclasses
from pathlib import PurePosixPath

__all__ = ["COMMITS", "PROGRAMS", "Program"]

Rule = tuple[str, str]

#: a program of Python 2
PYTHON_2: tuple[Rule, ...] = ((r"\bxrange\b", "range"),)
PRINTS: tuple[Rule, ...] = ((r"^([ \t]*)print (?!\()(.*)$", r"\1print(\2)"),)
#: the names that TensorFlow 1 had before 1.0
OLD_NAMES: tuple[Rule, ...] = ((r"\binitialize_all_variables\b", "global_variables_initializer"),)


@dataclasses.dataclass(frozen=True)
class Program:
    """A program of a repository.

    Attributes:
        repository: owner/name on GitHub.
        path: of the program in it.
        rules: patterns and replacements that shorten it.
        data: what public_programs_data.make writes next to it.
        arguments: of the program.
        folders: what is taken out of the repository; default: the program's folder.
        start: the folder to run in; default: the program's.
        import_from: folders for PYTHONPATH.
        tolerance: of graphio compare.
        resources: whether TensorFlow compares with resource variables: a run of the program both
            reads and writes variables, which race in TensorFlow otherwise.
        no_tensorflow: why TensorFlow 2.21 cannot run it; "": it can.
    """

    repository: str
    path: str
    rules: tuple[Rule, ...] = ()
    data: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    start: str | None = None
    import_from: tuple[str, ...] = ()
    tolerance: float = 1e-4
    resources: bool = False
    no_tensorflow: str = ""

    def __post_init__(self) -> None:
        if not self.folders:
            folder = str(PurePosixPath(self.path).parent)
            object.__setattr__(self, "folders", (folder,))

    @property
    def name(self) -> str:
        """The repository and the path."""
        return f"{self.repository}: {self.path}"


def number(name: str, value: int) -> Rule:
    """Gives a constant or a default argument another value.

    Args:
        name: of the constant.
        value: for its number.
    """
    return rf"\b{name}(\s*=\s*)[0-9][0-9_.e]*", rf"{name}\g<1>{value}"


def turns(old: int, new: int) -> Rule:
    """Shortens range(old)."""
    return rf"\brange\({old}\)", f"range({new})"


_AYMERIC = "aymericdamien/TensorFlow-Examples"
_V1 = "tensorflow_v1/examples"
_GOLBIN = "golbin/TensorFlow-Tutorials"
_GRAYKODE = "graykode/nlp-tutorial"
_NLP = "archive/tensorflow/v1"
_MORVAN = "MorvanZhou/Tensorflow-Tutorial"
_RL = "MorvanZhou/Reinforcement-learning-with-tensorflow"
_WISEODD = "wiseodd/generative-models"
_NLINTZ = "nlintz/TensorFlow-Tutorials"
_PKMITAL = "pkmital/tensorflow_tutorials"
_HUNKIM = "hunkim/DeepLearningZeroToAll"
_COOKBOOK = "nfmcclure/tensorflow_cookbook"
_DIGITS = ("digits:",)

#: the commits that the programs are taken at
COMMITS = {
    "AYLIEN/gan-intro": "441295e9266e5ed07c3de1252bf1a32e33a168b6",
    "aymericdamien/TensorFlow-Examples": "6dcbe14649163814e72a22a999f20c5e247ce988",
    "BinRoot/TensorFlow-Book": "7e8db4fec4333a3ada4954ff7f264328e931a22f",
    "cbfinn/maml": "a7f45f1bcd7457fe97b227a21e89b8a82cc5fa49",
    "easy-tensorflow/easy-tensorflow": "4413f921ef7e1ec8de6b860c2d0208ace0f868d7",
    "ericjang/draw": "56bb9404bc3d01da1e1ed2930660221f8c39f7b0",
    "golbin/TensorFlow-Tutorials": "c8ac1e45ca27cccd228f316dd4f66afbc22f9016",
    "graykode/nlp-tutorial": "d05e31ec81d56d70c1db89b99ab07e948f7ebc11",
    "hunkim/DeepLearningZeroToAll": "60c707e02af7bd950401faeadcc6c0e1b39b2978",
    "hunkim/ReinforcementZeroToAll": "276e950a95c006666f1a34362dfd40ef4264ffbb",
    "hunkim/word-rnn-tensorflow": "5df11c5578a43bf0b732e0bcb63ee8fec7a29d33",
    "hwalsuklee/tensorflow-mnist-CVAE": "c3ed2d83c29eb1f4f6e1fad98241319014b2dd79",
    "hwalsuklee/tensorflow-mnist-VAE": "e7903ac398aa5fc3eec8470177abf6ef78d9cac1",
    "jasonbaldridge/try-tf": "b9c24949c26c6f36bfec0466bfa951e1e903d3c3",
    "lawlite19/MachineLearning_TensorFlow": "398acabb892607adf7795c34962bc75aba9d4afc",
    "lazyprogrammer/machine_learning_examples": "9c35878543c99be13dd5201a5d1bebf492bcd2b4",
    "MorvanZhou/Reinforcement-learning-with-tensorflow": "93e333484be0e262d28b65507b6a1d002424a056",
    "MorvanZhou/Tensorflow-Tutorial": "42dc32de532d146725aeef965d87871142a542d6",
    "nfmcclure/tensorflow_cookbook": "d998edfe7df11177df2ea17814be7bd6193788c9",
    "nlintz/TensorFlow-Tutorials": "d6bdab7df46492446c48537fcf37e20ba44e8168",
    "pkmital/tensorflow_tutorials": "c3eefe59979cdde7b8cb59d2c52da8ebebe43254",
    "sherjilozair/char-rnn-tensorflow": "4bff62d34ba6d536f052145cd3f8f79b6fa11365",
    "tkipf/gae": "0ebbe9b9a8f496eb12deb9aa6a62e7016b5a5ac3",
    "tkipf/gcn": "39a4089fe72ad9f055ed6fdb9746abdcfebc4d81",
    "wiseodd/generative-models": "b930d5fa9e2f69adfd4ea8ec759f38f6ce6da4c2",
}

PROGRAMS: tuple[Program, ...] = (
    Program(_AYMERIC, f"{_V1}/2_BasicModels/linear_regression.py", (number("training_epochs", 2),)),
    Program(
        _AYMERIC,
        f"{_V1}/2_BasicModels/logistic_regression.py",
        (number("training_epochs", 1),),
        _DIGITS,
    ),
    Program(_AYMERIC, f"{_V1}/2_BasicModels/nearest_neighbor.py", (), _DIGITS),
    Program(
        _AYMERIC,
        f"{_V1}/3_NeuralNetworks/autoencoder.py",
        (number("num_steps", 11), number("display_step", 1)),
        _DIGITS,
    ),
    Program(
        _AYMERIC,
        f"{_V1}/3_NeuralNetworks/bidirectional_rnn.py",
        (number("training_steps", 11), number("display_step", 1)),
        _DIGITS,
    ),
    Program(
        _AYMERIC,
        f"{_V1}/3_NeuralNetworks/convolutional_network_raw.py",
        (number("num_steps", 11), number("display_step", 1)),
        _DIGITS,
    ),
    Program(
        _AYMERIC,
        f"{_V1}/3_NeuralNetworks/dynamic_rnn.py",
        (number("training_steps", 11), number("display_step", 1)),
    ),
    Program(_AYMERIC, f"{_V1}/3_NeuralNetworks/gan.py", (number("num_steps", 11),), _DIGITS),
    Program(_AYMERIC, f"{_V1}/3_NeuralNetworks/dcgan.py", (number("num_steps", 11),), _DIGITS),
    Program(
        _AYMERIC,
        f"{_V1}/3_NeuralNetworks/multilayer_perceptron.py",
        (number("training_epochs", 1),),
        _DIGITS,
    ),
    Program(
        _AYMERIC,
        f"{_V1}/3_NeuralNetworks/variational_autoencoder.py",
        (number("num_steps", 11), number("display_step", 1)),
        _DIGITS,
    ),
    Program(_AYMERIC, f"{_V1}/4_Utils/save_restore_model.py", (), _DIGITS),
    Program(
        _AYMERIC,
        f"{_V1}/4_Utils/tensorboard_advanced.py",
        (number("training_epochs", 1),),
        _DIGITS,
        resources=True,
    ),
    Program(
        _AYMERIC,
        f"{_V1}/5_DataManagement/tensorflow_dataset_api.py",
        (number("num_steps", 11), number("display_step", 1)),
        _DIGITS,
    ),
    Program(_GOLBIN, "03 - TensorFlow Basic/03 - Linear Regression.py"),
    Program(_GOLBIN, "04 - Neural Network Basic/03 - Word2Vec.py", (number("training_epoch", 11),)),
    Program(_GOLBIN, "06 - MNIST/02 - Dropout.py", (turns(30, 1),), _DIGITS),
    Program(_GOLBIN, "07 - CNN/02 - tf.layers.py", (turns(15, 1),), _DIGITS),
    Program(_GOLBIN, "09 - GAN/02 - GAN2.py", (number("total_epoch", 1),), _DIGITS),
    Program(_GOLBIN, "10 - RNN/02 - Autocomplete.py", (number("total_epoch", 12),)),
    Program(_GOLBIN, "10 - RNN/03 - Seq2Seq.py", (number("total_epoch", 12),)),
    Program(_NLINTZ, "03_net.py", (turns(100, 1),), _DIGITS),
    Program(_NLINTZ, "04_modern_net.py", (turns(100, 1),), _DIGITS),
    Program(_NLINTZ, "06_autoencoder.py", (turns(100, 1),), _DIGITS),
    Program(_NLINTZ, "07_lstm.py", (turns(100, 1),), _DIGITS),
    Program(_NLINTZ, "08_word2vec.py", (turns(100, 12),)),
    Program(_PKMITAL, "python/03_polynomial_regression.py", (number("n_epochs", 3),)),
    Program(_PKMITAL, "python/09_convolutional_autoencoder.py", (number("n_epochs", 1),), _DIGITS),
    Program(_PKMITAL, "python/11_variational_autoencoder.py", (number("n_epochs", 1),), _DIGITS),
    Program(_MORVAN, "tutorial-contents/301_simple_regression.py"),
    Program(_MORVAN, "tutorial-contents/403_RNN_regression.py"),
    Program(_MORVAN, "tutorial-contents/404_AutoEncoder.py", (turns(8000, 30),), _DIGITS),
    Program(_MORVAN, "tutorial-contents/406_GAN.py", (turns(5000, 20),)),
    Program(
        _MORVAN,
        "tutorial-contents/405_DQN_reinforcement_learning.py",
        (turns(400, 3), number("MEMORY_CAPACITY", 40)),
    ),
    Program(_WISEODD, "GAN/vanilla_gan/gan_tensorflow.py", (turns(1000000, 30),), _DIGITS),
    Program(_WISEODD, "VAE/vanilla_vae/vae_tensorflow.py", (turns(1000000, 20),), _DIGITS),
    Program(_GRAYKODE, f"{_NLP}/1-1.NNLM/NNLM.py", (turns(5000, 20),)),
    Program(_GRAYKODE, f"{_NLP}/2-1.TextCNN/TextCNN.py", (turns(5000, 20),)),
    Program(_GRAYKODE, f"{_NLP}/3-3.Bi-LSTM/Bi-LSTM.py", (turns(10000, 20),)),
    Program(_GRAYKODE, f"{_NLP}/4-1.Seq2Seq/Seq2Seq.py", (turns(5000, 20),)),
    Program(_GRAYKODE, f"{_NLP}/4-2.Seq2Seq(Attention)/Seq2Seq(Attention).py", (turns(2000, 20),)),
    Program(_GRAYKODE, f"{_NLP}/4-3.Bi-LSTM(Attention)/Bi-LSTM(Attention).py", (turns(5000, 20),)),
    Program("AYLIEN/gan-intro", "gan.py", arguments=("--num-steps", "20")),
    Program(
        "ericjang/draw",
        "draw.py",
        (number("train_iters", 11), (r"np\.save\(out_file,", "list(")),
        _DIGITS,
    ),
    Program("BinRoot/TensorFlow-Book", "ch07_autoencoder/main.py", (number("epoch", 12),)),
    Program("tkipf/gcn", "gcn/train.py", (), (), ("--epochs", "11"), ("gcn",), import_from=("",)),
    Program("tkipf/gae", "gae/train.py", (), (), ("--epochs", "11"), ("gae",), import_from=("",)),
    Program(
        "sherjilozair/char-rnn-tensorflow",
        "train.py",
        (),
        ("text:data/tinyshakespeare/input.txt",),
        ("--num_epochs", "1", "--rnn_size", "16"),
        (".",),
    ),
    Program(_HUNKIM, "lab-09-7-sigmoid_back_prop.py"),
    Program(_HUNKIM, "lab-10-5-mnist_nn_dropout.py", (number("training_epochs", 1),), _DIGITS),
    Program(
        _HUNKIM,
        "lab-10-7-mnist_nn_higher_level_API.py",
        (number("training_epochs", 1),),
        _DIGITS,
    ),
    Program(_HUNKIM, "lab-11-4-mnist_cnn_layers.py", (number("training_epochs", 1),), _DIGITS),
    Program(_HUNKIM, "lab-12-4-rnn_long_char.py", (turns(500, 12),)),
    Program(_HUNKIM, "lab-12-5-rnn_stock_prediction.py", (number("iterations", 12),)),
    Program(_HUNKIM, "lab-13-3-mnist_save_restore.py", (number("training_epochs", 1),), _DIGITS),
    Program(_RL, "contents/7_Policy_gradient_softmax/run_CartPole.py", (turns(3000, 15),)),
    Program(
        _RL,
        "contents/8_Actor_Critic_Advantage/AC_CartPole.py",
        (number("MAX_EPISODE", 3),),
    ),
    Program(
        _RL,
        "contents/8_Actor_Critic_Advantage/AC_continue_Pendulum.py",
        (number("MAX_EPISODE", 3),),
    ),
    Program(
        _COOKBOOK,
        "03_Linear_Regression/04_Loss_Functions_in_Linear_Regressions/04_lin_reg_l1_vs_l2.py",
    ),
    Program(
        _COOKBOOK,
        "03_Linear_Regression/05_Implementing_Deming_Regression/05_deming_regression.py",
    ),
    Program(
        _COOKBOOK,
        "06_Neural_Networks/04_Single_Hidden_Layer_Network/04_single_hidden_layer_network.py",
    ),
    Program(
        _COOKBOOK,
        "06_Neural_Networks/05_Implementing_Different_Layers/05_implementing_different_layers.py",
    ),
    Program("lazyprogrammer/machine_learning_examples", "hmm_class/tf_scan2.py"),
    Program("lazyprogrammer/machine_learning_examples", "hmm_class/tf_scan3.py"),
    Program(
        "easy-tensorflow/easy-tensorflow",
        "7_Recurrent_Neural_Network/code/03_Many_to_One_with_Fixed_Sequence_Length/main.py",
        (number("training_steps", 12),),
    ),
    Program(
        "easy-tensorflow/easy-tensorflow",
        "5_AutoEncoder/code/main.py",
        (number("epochs", 1),),
        _DIGITS,
    ),
    Program(
        "jasonbaldridge/try-tf",
        "softmax-python3.py",
        folders=(".",),
        arguments=(
            "--train",
            "simdata/linear_data_train.csv",
            "--test",
            "simdata/linear_data_eval.csv",
            "--plot",
            "False",
        ),
    ),
    Program(
        "cbfinn/maml",
        "main.py",
        folders=(".",),
        arguments=(
            "--datasource=sinusoid",
            "--resume=False",
            "--metatrain_iterations=12",
            "--norm=None",
            "--update_batch_size=10",
            "--logdir=logs",
        ),
    ),
    Program(
        "hunkim/ReinforcementZeroToAll",
        "08_2_softmax_pg_cartpole.py",
        (number("max_episodes", 10),),
    ),
    Program(
        "hunkim/ReinforcementZeroToAll", "07_2_dqn_2013_cartpole.py", (number("MAX_EPISODE", 6),)
    ),
    Program(
        "lawlite19/MachineLearning_TensorFlow",
        "Mnist_03_CNN/mnist_cnn.py",
        (turns(1000, 12),),
        _DIGITS,
    ),
    Program(
        "hwalsuklee/tensorflow-mnist-VAE",
        "run_main.py",
        (),
        ("all_digits:data",),
        ("--dim_z", "2", "--num_epochs", "1"),
    ),
    Program(
        "hwalsuklee/tensorflow-mnist-CVAE",
        "run_main.py",
        (),
        ("all_digits:data",),
        ("--dim_z", "2", "--num_epochs", "1"),
    ),
    Program(
        "hunkim/word-rnn-tensorflow",
        "train.py",
        (),
        ("text:data/tinyshakespeare/input.txt", "folder:save", "folder:logs"),
        ("--num_epochs", "1", "--rnn_size", "16"),
        (".",),
    ),
    Program(
        _WISEODD, "GAN/boundary_equilibrium_gan/began_tensorflow.py", (turns(1000000, 12),), _DIGITS
    ),
    Program(
        _WISEODD, "VAE/adversarial_autoencoder/aae_tensorflow.py", (turns(1000000, 12),), _DIGITS
    ),
)
